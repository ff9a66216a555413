package import AvatarCore
package import AvatarIndex

/// Learns of answers in the transaction that stores or erases them, so a kill loses no message to it.
package protocol AnswerSink: Sendable {
    /// The entry of `key` has the answer of `url` now.
    func store(_ key: AvatarKey, from url: String, answered time: Timestamp, in transaction: IndexTransaction) throws

    /// The image of `urls` is erased; `digest` is that of its bytes, if they were stored.
    func erase(_ urls: [String], digest: [UInt8]?, at time: Timestamp, in transaction: IndexTransaction) throws
}
