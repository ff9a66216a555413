import AvatarCore
import AvatarFiles
import AvatarIndex

/// A picture that many contacts have from one host.
public struct SharedPicture: Hashable, Sendable {
    /// A host that gives the picture to many contacts.
    public struct Host: Hashable, Sendable {
        /// Name and port.
        public var name: String
        /// The contacts that have the picture from this host.
        public var contacts: Int
    }

    /// The SHA-256 of its bytes in hexadecimal digits.
    public var digest: String
    /// The contacts that have it from one of `hosts`.
    public var contacts: Int
    /// The hosts that give it to many contacts, the one with most of them first.
    public var hosts: [Host]
    /// The media type found in the bytes, such as `image/png`.
    public var mediaType: String
    /// The width in pixels; 0 for an SVG that states none.
    public var width: Int
    /// The height in pixels; 0 for an SVG that states none.
    public var height: Int
    /// The length in bytes.
    public var sizeBytes: Int
    /// The absolute path of a file with these bytes; `nil` if the index names a place where the store publishes none.
    public var localFile: String?
}

/// One page of shared pictures.
public struct SharedPicturePage: Sendable {
    /// The pictures, those of most contacts first.
    public var pictures: [SharedPicture]
    /// The value of `after` for the next page; `nil` on the last page.
    public var next: String?
}

extension AvatarStore {
    /// The number of contacts from which on a shared picture is listed, unless the caller says otherwise: more than a family
    /// or a small company.
    public static let usualSharedMinimum = 10

    /// Pictures that at least `minimum` contacts have from one host, those of most contacts first: candidates for
    /// `ignore(digests:)`. Changes nothing.
    ///
    /// With a million entries a call takes less than a second, whatever the page.
    /// - Parameter minimum: at least 2. Default: 10.
    /// - Parameter last: the `next` of the page before; `nil` for the first page.
    /// - Parameter limit: the maximum number of pictures, at least 1. Default: 100.
    /// - Throws: `invalidConfiguration` for a parameter outside its limits; an error of the index.
    public func sharedPictures(
        minimum: Int = usualSharedMinimum,
        after last: String? = nil,
        limit: Int = 100
    ) throws -> SharedPicturePage {
        guard minimum >= 2, limit >= 1 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The minimum of shared pictures must be at least 2, not \(minimum), and the limit at least 1, not \(limit)."
            )
        }
        let found = try index.sharedPictures(minimum: minimum, after: last.map(Self.position), limit: limit)
        let end = found.count == limit ? found.last : nil
        return SharedPicturePage(
            pictures: found.compactMap { record in record.file.map { picture(record, $0) } },
            next: end.map { "\($0.contacts) \(Hexadecimal.text($0.sha256))" }
        )
    }

    private func picture(_ record: SharedRecord, _ file: FileRecord) -> SharedPicture {
        SharedPicture(
            digest: Hexadecimal.text(record.sha256),
            contacts: record.contacts,
            hosts: record.hosts.map { SharedPicture.Host(name: $0.name, contacts: $0.contacts) },
            mediaType: file.mediaType,
            width: file.width,
            height: file.height,
            sizeBytes: file.sizeBytes,
            localFile: FilePath.isPublishedName(file.path) ? roots.path(of: file) : nil
        )
    }

    /// The end of a page: a number of contacts and a digest, with a space in between.
    ///
    /// - Throws: `invalidConfiguration` for any other text.
    private static func position(_ text: String) throws(AvatarStoreError) -> (contacts: Int, sha256: [UInt8]) {
        let parts = text.split(separator: " ").map(String.init)
        guard parts.count == 2, let contacts = Int(parts[0]), let sha256 = Hexadecimal.bytes(parts[1]) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\"\(text.prefix(80))\" is not the end of a page of shared pictures. Pass the `next` of a page."
            )
        }
        return (contacts, sha256)
    }
}
