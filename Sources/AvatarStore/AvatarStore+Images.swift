public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex

/// A stored image as a server gives it to its clients: with the digest of its bytes, and until when it is fresh.
public struct StoredImage: Sendable {
    /// The key of the entry.
    public let key: AvatarKey
    /// The SHA-256 of the bytes in hexadecimal digits. The same digest always means the same bytes.
    public let sha256: String
    /// The media type found in the bytes, such as `image/png`.
    public var mediaType: String { hit.file.mediaType }
    /// The usual file extension of that type without its dot, such as `png`.
    package var fileExtension: String { ImageFormat(rawValue: mediaType).fileExtension }
    /// The length in bytes.
    public var sizeBytes: Int { viewByteCount ?? hit.file.sizeBytes }
    /// The width in pixels; 0 for an SVG that states none.
    public var width: Int { hit.file.width }
    /// The height in pixels; 0 for an SVG that states none.
    public var height: Int { hit.file.height }
    /// Whether this is a rendition. The copy of an image without its metadata does not count as one.
    package var isRendition: Bool { original != nil && !isCopy }
    /// When the bytes were stored; for a rendition, when its original was stored.
    public let published: Timestamp
    /// Whether the file holds metadata, such as EXIF, XMP and comments, which `removingMetadata(from:)` takes out; `nil` for a
    /// file that an earlier version stored and no program has looked at since.
    package let hasMetadata: Bool?
    /// Until when the image is fresh (RFC 9111 section 4.2); `nil` for an own image, which is always fresh.
    public var freshUntil: Timestamp? { hit.freshUntil }
    /// The hit that the image was read from.
    let hit: IndexHit
    /// The hit of the original if the image is a rendition; else `nil`.
    let original: IndexHit?
    /// Whether this is the copy of `original` without its metadata.
    var isCopy = false
    /// The length of a view of the file that leaves the metadata out; `nil` for the file itself.
    var viewByteCount: Int?
}

/// The open file of an image. It stays readable after it is evicted or replaced, and is closed with the last reference.
public struct OpenImage: Sendable {
    /// The image whose bytes these are.
    public let image: StoredImage
    private let source: any ByteSource & Sendable

    init(_ image: StoredImage, _ source: any ByteSource & Sendable) {
        self.image = image
        self.source = source
    }

    /// The bytes from `offset` on, at most `count` of them; fewer only at the end of the file.
    ///
    /// - Throws: an error of the disk.
    public func bytes(at offset: Int, count: Int) throws -> [UInt8] {
        try source.bytes(at: offset, count: count)
    }
}

extension AvatarStore {
    /// The stored image of `contact`: its embedded photo, else the image at its URL, else that of an e-mail source.
    /// Sends no request, does not wait for writers, and does not count as a use.
    ///
    /// - Returns: `nil` if the contact has no image in the index. The file may still be missing: `open(_:)` tells.
    /// - Throws: an error of the index.
    public func image(of contact: String) throws -> StoredImage? {
        try imageFound { try index.image(of: contact) }
    }

    /// The stored image whose bytes have the SHA-256 `sha256`, as `image(of:)`.
    ///
    /// - Parameter sha256: 64 hexadecimal digits in lower case.
    /// - Returns: `nil` if no entry has these bytes, or `sha256` is not a digest.
    /// - Throws: an error of the index.
    package func image(withDigest sha256: String) throws -> StoredImage? {
        guard let digest = Hexadecimal.bytes(sha256), digest.count == 32 else { return nil }
        return try imageFound { try index.image(withDigest: digest) }
    }

    /// The stored image of a contact with the e-mail address that has the digest `digest`, as `image(of:)`. If several
    /// contacts share the address, the first of them with an image counts.
    ///
    /// The store knows the addresses that lists gave since `Setting.keepAddresses` was set to 1. An address that it does not
    /// know costs the same time as that of a contact without an image.
    /// - Parameter digest: the MD5 or the SHA-256 of the address in lower case, without white space at its ends: 32 or 64
    ///   hexadecimal digits of either case.
    /// - Returns: `nil` if no contact with the address has an image in the index, or `digest` is not a digest.
    /// - Throws: an error of the index.
    package func image(withAddressDigest digest: String) throws -> StoredImage? {
        guard let digest = Hexadecimal.bytes(digest), digest.count == 16 || digest.count == 32 else { return nil }
        return try imageFound { try index.image(withAddress: digest) }
    }

    /// Opens the file of `image`, and counts that as a use.
    ///
    /// - Returns: `nil` if the file is missing: it was evicted, replaced or deleted since the image was looked up. Then
    ///   look it up again.
    /// - Throws: an error of the disk.
    public func open(_ image: StoredImage) throws -> OpenImage? {
        guard let file = try roots.open(image.hit.file) else { return nil }
        let now = clock.now()
        accesses.record(image.hit, at: now)
        // A use of a rendition is a use of its original too. Otherwise the original is evicted first, with all its renditions.
        if let original = image.original { accesses.record(original, at: now) }
        return OpenImage(image, file)
    }

    /// The image that `look` finds in the index, with the hit of its entry.
    ///
    /// A writer may replace the image between the two reads, so that they disagree. Each replacement is a commit, so a few
    /// looks suffice; after them the last hit is passed over rather than named by another image's digest.
    func imageFound(by look: () throws -> ImageRecord?) throws -> StoredImage? {
        for _ in 0..<8 {
            guard let found = try look() else { return nil }
            guard let hit = try index.hit(for: found.key), hit.file.id == found.fileID else { continue }
            return StoredImage(
                key: found.key,
                sha256: Hexadecimal.text(found.sha256),
                published: found.published,
                hasMetadata: found.hasMetadata,
                hit: hit,
                original: nil
            )
        }
        return nil
    }
}
