/// Decides which files are evicted for new bytes: the least recently used first, and no more than needed.
///
/// The caller offers files in the order of their last access until the plan has enough. The target is the smaller of
/// the low watermark and the limit minus the new bytes, so that afterwards `target − largest victim < bytes ≤ target`.
package struct EvictionPlan: Sendable {
    /// The bytes that count against the limit now, including pending files.
    package let bytes: Int
    /// The bytes that are about to be published.
    package let incoming: Int
    /// The maximum number of bytes: the budget, or a lower ceiling.
    package let limit: Int
    /// The number of bytes at which eviction stops.
    package let target: Int

    /// The row ids of the files to evict, in the order in which they were offered.
    package private(set) var victims: [Int64] = []
    /// The bytes of the victims.
    package private(set) var freed = 0

    /// A plan that frees space for `incoming` bytes.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that count against the limit now.
    ///   - incoming: the bytes to be published.
    ///   - limit: the maximum number of bytes.
    ///   - lowWatermark: the number of bytes at which eviction stops, if the new bytes fit there too.
    package init(bytes: Int, incoming: Int, limit: Int, lowWatermark: Int) {
        (self.bytes, self.incoming, self.limit) = (bytes, incoming, limit)
        target = min(lowWatermark, limit - incoming)
    }

    /// A plan that trims the files to `target` bytes.
    package init(bytes: Int, trimmingTo target: Int) {
        self.bytes = bytes
        incoming = 0
        limit = target
        self.target = target
    }

    /// Whether files must be evicted at all.
    package var needsEviction: Bool { bytes + incoming > limit }

    /// Whether the victims so far reduce the bytes to the target.
    package var isComplete: Bool { bytes - freed <= target }

    /// Whether the new bytes fit once the victims are gone.
    package var fits: Bool { bytes - freed + incoming <= limit }

    /// Adds the next least recently used file to the victims, unless the plan is complete.
    ///
    /// - Parameters:
    ///   - fileID: the row id of the file.
    ///   - sizeBytes: the length of the file in bytes.
    /// - Returns: whether the plan needs another file.
    package mutating func offer(fileID: Int64, sizeBytes: Int) -> Bool {
        guard !isComplete else { return false }
        victims.append(fileID)
        freed += sizeBytes
        return !isComplete
    }
}
