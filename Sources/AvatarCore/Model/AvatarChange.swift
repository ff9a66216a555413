/// One change of a picture, or of who uses it, in the order in which the store made them.
public struct AvatarChange: Hashable, Sendable {
    /// What happened. The raw value is the spelling for messages.
    public enum Kind: String, Sendable, CaseIterable {
        /// The owners have this picture now: it is new, or it is new to them.
        case added
        /// The picture has other bytes. The same bytes under another ETag are no change.
        case changed
        /// The owners do not have the picture any more. An eviction removes nothing: the picture is fetched again when it
        /// is needed.
        case removed
    }

    /// Later changes have higher numbers. They are not consecutive.
    public var sequence: Int64
    /// Which image.
    public var key: AvatarKey
    /// The contacts that are concerned, in the order of their bytes.
    public var owners: [String]
    /// What happened.
    public var kind: Kind
    /// The SHA-256 of the bytes in hexadecimal; with `removed`, of those that were there last.
    public var digest: String
    /// When the store made the change.
    public var time: Timestamp

    /// A change.
    public init(sequence: Int64, key: AvatarKey, owners: [String], kind: Kind, digest: String, time: Timestamp) {
        self.sequence = sequence
        self.key = key
        self.owners = owners
        self.kind = kind
        self.digest = digest
        self.time = time
    }
}
