public import AvatarStore
import AvatarCore
import AvatarFiles
import AvatarIndex

/// An image that many contacts have from one host, such as the default image of a service.
public struct SharedImage: Hashable, Sendable {
    /// A host from which many contacts have the image.
    public struct Host: Hashable, Sendable {
        /// The name and port, such as `gravatar.com:443`.
        public var name: String
        /// The number of contacts that have the image from this host.
        public var contacts: Int
    }

    /// The SHA-256 of its bytes, 64 lower-case hexadecimal digits. Pass it to `AvatarStore.ignore(digests:dryRun:)`.
    public var digest: String
    /// The sum of the contacts of `hosts`.
    public var contacts: Int
    /// The hosts with at least the minimum of contacts, sorted by the number of contacts, descending.
    public var hosts: [Host]
    /// The media type found in the bytes, such as `image/png`.
    public var mediaType: String
    /// The width in pixels; 0 for an SVG that states none.
    public var width: Int
    /// The height in pixels; 0 for an SVG that states none.
    public var height: Int
    /// The length in bytes.
    public var sizeBytes: Int
    /// The absolute path of a file with these bytes; `nil` if the path in the index is not one of the store.
    public var localFile: String?
}

/// One page of shared images.
public struct SharedImagePage: Sendable {
    /// The images, sorted by the number of contacts, descending.
    public var images: [SharedImage]
    /// The value of `after` for the next page; `nil` on the last page.
    public var next: String?
}

extension AvatarStore {
    /// The default minimum of `sharedImages(minimum:after:limit:)`, 10 contacts: more than a family or a small company.
    public static let usualSharedMinimum = 10

    /// Images that at least `minimum` contacts have from one host, sorted by the number of contacts, descending: candidates
    /// for `ignore(digests:dryRun:)`. Changes nothing.
    ///
    /// With a million entries a call for any page takes less than a second.
    /// - Parameter minimum: the minimum number of contacts of one host, at least 2. Default: 10.
    /// - Parameter last: the `next` of the page before; `nil` for the first page.
    /// - Parameter limit: the limit on the number of images, at least 1. Default: 100.
    /// - Throws: `invalidConfiguration` for an invalid parameter; an error of the index.
    public func sharedImages(
        minimum: Int = usualSharedMinimum,
        after last: String? = nil,
        limit: Int = 100
    ) throws -> SharedImagePage {
        guard minimum >= 2, limit >= 1 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The minimum of shared images (\(minimum)) must be at least 2, and the limit (\(limit)) at least 1."
            )
        }
        let found = try index.sharedImages(minimum: minimum, after: last.map(Self.position), limit: limit)
        let end = found.count == limit ? found.last : nil
        return SharedImagePage(
            images: found.compactMap { record in record.file.map { image(record, $0) } },
            next: end.map { "\($0.contacts) \(Hexadecimal.text($0.sha256))" }
        )
    }

    private func image(_ record: SharedRecord, _ file: FileRecord) -> SharedImage {
        SharedImage(
            digest: Hexadecimal.text(record.sha256),
            contacts: record.contacts,
            hosts: record.hosts.map { SharedImage.Host(name: $0.name, contacts: $0.contacts) },
            mediaType: file.mediaType,
            width: file.width,
            height: file.height,
            sizeBytes: file.sizeBytes,
            localFile: FilePath.isPublishedName(file.path) ? roots.path(of: file) : nil
        )
    }

    /// Parses the end of a page: a number of contacts, a space, and a digest.
    ///
    /// - Throws: `invalidConfiguration` for any other text.
    private static func position(_ text: String) throws(AvatarStoreError) -> (contacts: Int, sha256: [UInt8]) {
        let parts = text.split(separator: " ").map(String.init)
        guard parts.count == 2, let contacts = Int(parts[0]), let sha256 = Hexadecimal.bytes(parts[1]) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The position \"\(text.prefix(80))\" must be the `next` of a page of shared images."
            )
        }
        return (contacts, sha256)
    }
}
