import AvatarCore
import AvatarIndex
import AvatarWriter

/// The work that waits in the index for the shared tier: answers of origins, and erasures if the store has ever used a tier.
struct TierQueue: AnswerSink {
    /// The most answers that wait; the oldest ones are dropped.
    static let mostWaiting = 100_000

    func store(_ key: AvatarKey, from url: String, answered time: Timestamp, in transaction: IndexTransaction) throws {
        try transaction.queueUpload(of: key, TierURL(url), answered: time, atMost: Self.mostWaiting)
    }

    func erase(_ urls: [String], digest: [UInt8]?, at time: Timestamp, in transaction: IndexTransaction) throws {
        for url in urls { try transaction.queueTierErasure(of: TierURL(url), digest: digest, at: time) }
    }
}
