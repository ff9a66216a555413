import AvatarCore
import AvatarFiles

/// Reads images that other machines have put into the shared tier, and checks all that it reads.
struct TierReader: Sendable {
    let gate: TierGate

    /// A copy of an image in the tier.
    struct Copy: Sendable {
        /// The key of its record.
        let generation: TierGeneration
        /// Its record.
        let record: TierRecord
    }

    /// The newest answer for `url`.
    ///
    /// - Throws: `TierUnavailable`; `CancellationError`.
    func newest(of url: TierURL) async throws -> TierGeneration? {
        for key in try await gate.list(TierLayout.records(of: url)).keys {
            if let (_, generation) = TierLayout.record(key) { return generation }
        }
        return nil
    }

    /// The copy of the image of `generation`; `nil` if its record is gone, or not as it must be.
    func copy(of url: TierURL, _ generation: TierGeneration) async throws -> Copy? {
        let key = TierLayout.record(of: url, generation)
        let bytes = try await gate.call(.read) { try await $0.get(key, limit: TierRecord.largestSize) }
        guard let bytes else { return nil }
        guard let record = TierRecord(bytes, of: url, generation) else {
            gate.refuse("The object \"\(key)\" of the shared tier is not a record of its URL. Delete it.")
            return nil
        }
        return Copy(generation: generation, record: record)
    }

    /// The bytes of the image of `copy`; `nil` if they are gone, or do not have its digest.
    ///
    /// - Parameter limit: the maximum size of an image in bytes.
    func bytes(of copy: Copy, limit: Int) async throws -> [UInt8]? {
        guard copy.record.size <= limit, let digest = copy.generation.digest else { return nil }
        let key = TierLayout.bytes(digest)
        let bytes = try await gate.call(.read, within: .seconds(60)) { try await $0.get(key, limit: copy.record.size) }
        guard let bytes else { return nil }
        guard bytes.count == copy.record.size, ContentDigest.sha256(bytes) == digest else {
            gate.refuse("The object \"\(key)\" of the shared tier does not match its digest. Delete it.")
            return nil
        }
        return bytes
    }
}
