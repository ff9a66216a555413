public import AvatarCore
import AvatarDigest

/// The proof of an erasure, which the store does not keep: what went, by digests alone, and when.
///
/// `AvatarStore.remnants(of:)` in `AvatarMaintenance` looks for it later. Its JSON has the names of the properties, and times in ISO
/// 8601. It has the id of the contact, so keep it as long as your rules for such proofs say, and no longer.
public struct ErasureReceipt: Hashable, Sendable, Codable {
    /// The most images of one receipt: 10,000.
    package static let maximumImages = 10_000

    /// The contact that was erased; `nil` for an erasure of images by their keys.
    public var id: String?
    /// When it was erased.
    public var time: Timestamp
    /// Random, for this erasure alone: 32 hexadecimal digits. The event of the change feed has it too.
    package var salt: String
    /// The hash of the contact's id in the change feed, as `ErasedContact.sha256`; `nil` without a contact.
    package var contactSHA256: String?
    /// The keys of the images: the SHA-256 of the digits of `salt` followed by the key, 64 hexadecimal digits each, sorted.
    package var keys: [String]
    /// The SHA-256 of the bytes of the files that went, sorted.
    package var images: [String]
    /// The SHA-256 of the URLs, by which the shared tier names them, sorted; empty in a store that has never used a tier.
    package var tierURLs: [String]

    /// The receipt of an erasure that removed `keys`.
    init(
        of id: String?,
        as mark: ErasedContact?,
        at time: Timestamp,
        keys: some Sequence<AvatarKey>,
        images: [[UInt8]],
        urls: some Sequence<String>
    ) {
        (self.id, self.time) = (id, time)
        let salt = mark?.salt ?? ErasedContact.newSalt()
        (self.salt, contactSHA256) = (salt, mark?.sha256)
        self.keys = keys.map { ErasedContact.hash($0.rawValue, salt: salt) }.sorted()
        self.images = images.map { Hexadecimal.text($0) }.sorted()
        tierURLs = Set(urls.map { TierURL($0).text }).sorted()
    }

    // MARK: JSON

    private enum Field: CodingKey {
        case id, time, salt, contactSHA256, keys, images, tierURLs
    }

    /// Reads a receipt.
    ///
    /// - Throws: `DecodingError` for anything else.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        let text = try fields.decode(String.self, forKey: .time)
        guard let time = Timestamp(iso8601: text) else {
            throw DecodingError.dataCorruptedError(forKey: .time, in: fields, debugDescription: "no time")
        }
        self.time = time
        id = try fields.decodeIfPresent(String.self, forKey: .id)
        salt = try fields.decode(String.self, forKey: .salt)
        contactSHA256 = try fields.decodeIfPresent(String.self, forKey: .contactSHA256)
        keys = try fields.decode([String].self, forKey: .keys)
        images = try fields.decode([String].self, forKey: .images)
        tierURLs = try fields.decodeIfPresent([String].self, forKey: .tierURLs) ?? []
    }

    /// Writes the receipt.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(id, forKey: .id)
        try fields.encode(time.iso8601, forKey: .time)
        try fields.encode(salt, forKey: .salt)
        try fields.encode(contactSHA256, forKey: .contactSHA256)
        try fields.encode(keys, forKey: .keys)
        try fields.encode(images, forKey: .images)
        try fields.encode(tierURLs, forKey: .tierURLs)
    }

    /// Whether the receipt names `key`.
    package func names(_ key: AvatarKey) -> Bool { keys.contains(ErasedContact.hash(key.rawValue, salt: salt)) }
}
