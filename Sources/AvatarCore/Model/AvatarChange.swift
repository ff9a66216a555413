/// One record of the change feed: an image changed, or the contacts that use it did.
///
/// The store numbers the records in the order in which it made the changes. A program that reads the feed keeps the
/// `sequence` of the last record that it processed.
public struct AvatarChange: Hashable, Sendable {
    /// The kinds of changes. The raw value is the word in messages and JSON.
    public enum Kind: String, Sendable, CaseIterable {
        /// These contacts now have this image, which is new in the store or new to them.
        case added
        /// The image has other bytes. The same bytes under another ETag do not count as a change.
        case changed
        /// These contacts no longer have the image. An eviction is not a removal, because the store fetches
        /// an evicted image again when a program reads it.
        case removed
        /// A contact was erased. The record has neither its key nor its digest nor its contacts: drop all that you have
        /// of the contact for which `AvatarStore` says `erases(contact:)`, of the present and of the past.
        case erased
    }

    /// The number of the record. Later records have higher numbers, with gaps.
    public var sequence: Int64
    /// The key of the image; for `erased` a key that no image has.
    public var key: AvatarKey
    /// The ids of the contacts that the change concerns, sorted by their UTF-8 bytes.
    public var contacts: [String]
    /// The names of the lists and address books that name these contacts at the time of reading, by the ids of the contacts, as
    /// `StoredContact.sources`. A contact that none names is left out.
    public var sources: [String: [String]] = [:]
    /// The kind of the change.
    public var kind: Kind
    /// The SHA-256 digest of the image in lower-case hexadecimal; for `removed`, of the last bytes stored; empty for
    /// `erased`.
    public var digest: String
    /// When the store made the change.
    public var time: Timestamp
    /// The contact that was erased; `nil` for the other kinds.
    package var erased: ErasedContact?

    /// A record with these values.
    package init(sequence: Int64, key: AvatarKey, contacts: [String], kind: Kind, digest: String, time: Timestamp) {
        (self.sequence, self.key, self.contacts, self.kind) = (sequence, key, contacts, kind)
        (self.digest, self.time) = (digest, time)
    }
}
