import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarStore

/// An image as it leaves the store for a folder: as it is stored, as a rendition, or without its metadata.
struct OutgoingImage {
    /// The result of looking for one.
    enum Found {
        case image(OutgoingImage)
        /// The file in the store is missing or damaged.
        case missing
        /// The image has metadata that cannot be taken out.
        case withheld
    }

    /// The entry that has the image, and its file.
    private let entry: AvatarEntry
    private let file: FileRecord
    let bytes: [UInt8]
    let mediaType: String
    /// Whether the rendition that was asked for could not be made.
    let lacksRendition: Bool

    /// The image of `key`, checked against its digest.
    ///
    /// - Parameter rendition: the rendition to make of it; `nil`: none. The image is taken as it is if it cannot be made.
    /// - Throws: an error of the index or the disk; `CancellationError`.
    static func find(
        _ key: AvatarKey,
        as rendition: Rendition?,
        withoutMetadata: Bool,
        _ fetching: FetchParts
    ) async throws -> Found {
        let parts = fetching.parts
        // Another process may replace or evict the image meanwhile.
        for _ in 0..<3 {
            guard let entry = try parts.index.entry(for: key), let file = entry.file else { return .missing }
            guard let bytes = try parts.roots.read(file), ContentDigest.sha256(bytes) == entry.sha256 else { continue }
            var image = (bytes: bytes, mediaType: file.mediaType)
            var lacksRendition = false
            if let rendition {
                let made = try await RenditionWork.exported(rendition, of: key, fetching)
                (image, lacksRendition) = (made ?? image, made == nil)
            }
            if withoutMetadata {
                guard let clean = try await MetadataRemoval.exported(image, of: key, fetching) else { return .withheld }
                image = clean
            }
            return .image(
                OutgoingImage(
                    entry: entry,
                    file: file,
                    bytes: image.bytes,
                    mediaType: image.mediaType,
                    lacksRendition: lacksRendition
                )
            )
        }
        return .missing
    }

    /// The line of the manifest for the file `name` with this image.
    func line(_ name: String, owners: [String]) -> ImageManifest.Entry {
        let (sha256, stored) = (Hexadecimal.text(ContentDigest.sha256(bytes)), Hexadecimal.text(entry.sha256 ?? []))
        return ImageManifest.Entry(
            file: name,
            key: entry.key.rawValue,
            sourceURL: entry.sourceURL,
            storageClass: file.storageClass.rawValue,
            owners: owners,
            mediaType: mediaType,
            sizeBytes: bytes.count,
            sha256: sha256,
            original: sha256 == stored ? nil : stored
        )
    }
}
