/// Decides which files make room for new bytes: the least recently used first, and no more than needed.
///
/// Files are offered in the order of their last access until the plan has enough. The target is the smaller of the low
/// watermark and what the new bytes leave of the limit, so that afterwards
/// `target − largest victim < bytes ≤ target`.
package struct EvictionPlan: Sendable {
    /// Bytes that count against the limit now, pending ones too.
    package let bytes: Int
    /// Bytes that are about to be published.
    package let incoming: Int
    /// The budget, or a lower ceiling.
    package let limit: Int
    /// Where evicting stops.
    package let target: Int

    /// The row ids of the files to evict.
    package private(set) var victims: [Int64] = []
    /// Their bytes.
    package private(set) var freed = 0

    /// A plan that makes room for `incoming` bytes.
    package init(bytes: Int, incoming: Int, limit: Int, lowWatermark: Int) {
        self.bytes = bytes
        self.incoming = incoming
        self.limit = limit
        target = min(lowWatermark, limit - incoming)
    }

    /// A plan that trims to `target`, whatever the limit.
    package init(bytes: Int, trimmingTo target: Int) {
        self.bytes = bytes
        incoming = 0
        limit = target
        self.target = target
    }

    /// Whether anything has to go.
    package var needsEviction: Bool { bytes + incoming > limit }

    /// Whether the victims so far bring the bytes down to the target.
    package var isComplete: Bool { bytes - freed <= target }

    /// Whether what is coming fits once the victims are gone.
    package var fits: Bool { bytes - freed + incoming <= limit }

    /// Takes the next least recently used file, if more has to go.
    ///
    /// - Returns: whether the plan wants to see another one.
    package mutating func offer(fileID: Int64, sizeBytes: Int) -> Bool {
        guard !isComplete else { return false }
        victims.append(fileID)
        freed += sizeBytes
        return !isComplete
    }
}
