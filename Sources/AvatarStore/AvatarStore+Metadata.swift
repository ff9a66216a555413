import AvatarCore
import AvatarDigest
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarWriter

/// An image without its metadata, as `AvatarStore.removingMetadata(from:)` finds or makes it.
package enum ImageWithoutMetadata: Sendable {
    /// A stored image: the image itself if it has no metadata, else its copy; a rendition if metadata cannot be taken out
    /// of the format.
    case stored(StoredImage)
    /// A view of the file that leaves the metadata out. It is not stored: there is no room for a copy, or the store is open
    /// for reading only.
    case open(OpenImage)
    /// The metadata cannot be taken out, and no rendition can be made.
    case none
}

extension AvatarImage {
    /// The same image without its metadata: EXIF, XMP, IPTC, comments, texts, thumbnails, bytes behind its end. The pixels, the
    /// orientation and the colour profile stay, and nothing is decoded.
    ///
    /// - Returns: the image itself if it has no metadata; `nil` if it has some that cannot be taken out, because it is not
    ///   JPEG, PNG, GIF or WebP. A rendition has none.
    /// - Throws: nothing at present.
    public func withoutMetadata() throws -> AvatarImage? {
        guard let bytes = try MetadataRemoval.strip(bytes) else { return nil }
        guard bytes != self.bytes else { return self }
        var image = self
        image.bytes = bytes
        image.file.sizeBytes = bytes.count
        // The file has the metadata.
        image.file.localFile = nil
        return image
    }
}

extension AvatarStore {
    /// The image without its metadata if that is stored: the image itself, its copy, or a rendition if metadata cannot be
    /// taken out of its format. Does not wait for writers, and does not count as a use; `open(_:)` does.
    ///
    /// - Returns: `nil` if it is not known whether the image has metadata, or the copy is not made yet.
    ///   `removingMetadata(from:)` makes it.
    /// - Throws: an error of the index.
    package func storedWithoutMetadata(_ image: StoredImage) throws -> StoredImage? {
        guard let hasMetadata = image.hasMetadata else { return nil }
        guard hasMetadata else { return image }
        guard image.canLoseMetadata else { return try rendition(MetadataRemoval.largest, of: image) }
        guard let hit = try index.hit(for: image.key, rendition: MetadataRemoval.spec, of: image.hit.file.id),
            try roots.contains(hit.file)
        else { return nil }
        return try self.image(hit, of: image, isCopy: true)
    }

    /// The image without its metadata. The copy is made if necessary, and kept like a rendition: under their share of the
    /// budget, until its original goes. Making one takes milliseconds, and decodes nothing.
    ///
    /// - Returns: `nil` if the file of the image is missing. Then look it up again.
    /// - Throws: an error of the index or the disk; `CancellationError` if the task is cancelled.
    package func removingMetadata(from image: StoredImage) async throws -> ImageWithoutMetadata? {
        switch try await MetadataRemoval(of: image.hit, image.key, fetching).run() {
        case .unneeded: return .stored(image)
        case .stored(let hit):
            return try self.image(hit, of: image, isCopy: true).map(ImageWithoutMetadata.stored)
        case .view(let view): return .open(try open(image, as: view))
        case .none:
            let rendition = try await makeRendition(MetadataRemoval.largest, of: image)
            return rendition.map(ImageWithoutMetadata.stored) ?? ImageWithoutMetadata.none
        case .lost: return nil
        }
    }

    /// The image whose copy without metadata has the SHA-256 `sha256`: the original. Sends no request, does not wait for
    /// writers, and does not count as a use.
    ///
    /// - Parameter sha256: 64 hexadecimal digits in lower case.
    /// - Returns: `nil` if no such copy is stored, or `sha256` is not a digest.
    /// - Throws: an error of the index.
    package func image(withDigestOfCopy sha256: String) throws -> StoredImage? {
        guard let digest = Hexadecimal.bytes(sha256), digest.count == 32 else { return nil }
        return try imageFound { try index.image(withRendition: MetadataRemoval.spec, ofDigest: digest) }
    }

    /// The file of the image of `address` without its metadata, made and stored if necessary. Sends no request, and counts
    /// as a use.
    ///
    /// - Parameter address: the URL of the image, or its key.
    /// - Returns: the stored file itself if it has no metadata; else its copy, or a rendition if metadata cannot be taken out
    ///   of its format; `nil` if the image is not stored.
    /// - Throws: `imageRefused` if the metadata cannot be taken out, and no rendition can be made; `overBudget` if there is no
    ///   room for the copy; `readOnly` in a store that is open for reading only; another error of the index or the disk;
    ///   `CancellationError` if the task is cancelled.
    public func fileWithoutMetadata(for address: some AvatarAddress) async throws -> AvatarFile? {
        let key = try address.avatarKey
        for _ in 0..<4 {
            guard let original = try index.hit(for: key) else { return nil }
            switch try await MetadataRemoval(of: original, key, fetching).run() {
            case .unneeded: return try storedFile(for: key)
            case .stored(let hit): return used(hit, key, of: original)
            case .view:
                _ = try requireWritable()
                throw AvatarStoreError(
                    .overBudget,
                    "The budget has no room for a copy of \"\(key)\" without metadata. Raise the budget or `rendition-budget`.",
                    failure: .storage
                )
            case .none:
                let options = FetchOptions(policy: .offline, mode: .offlineFirst, rendition: MetadataRemoval.largest)
                let file = try await self.file(for: key, options: options)
                guard file.rendition != nil else { throw AvatarStoreError.keepsMetadata(key) }
                return file
            case .lost: continue
            }
        }
        return nil
    }

    /// Records a use of a copy and of its original, and describes the copy.
    private func used(_ hit: IndexHit, _ key: AvatarKey, of original: IndexHit) -> AvatarFile {
        let file = used(hit, key)
        // Record the original last. Otherwise it is evicted first, with its copy.
        accesses.record(original, at: clock.now())
        return file
    }

    /// `image` without its metadata, opened, with the digest of what is left.
    private func open(_ image: StoredImage, as view: StrippedImage<OpenFile>) throws -> OpenImage {
        var digest = SHA256()
        var offset = 0
        while offset < view.byteCount {
            let bytes = try view.bytes(at: offset, count: 64 << 10)
            guard !bytes.isEmpty else { break }
            digest.update(bytes)
            offset += bytes.count
        }
        accesses.record(image.hit, at: clock.now())
        let stripped = StoredImage(
            key: image.key,
            sha256: Hexadecimal.text(digest.finalize()),
            published: image.published,
            hasMetadata: false,
            hit: image.hit,
            original: nil,
            viewByteCount: view.byteCount
        )
        return OpenImage(stripped, view)
    }
}

extension StoredImage {
    /// Whether metadata can be taken out of its format.
    fileprivate var canLoseMetadata: Bool { ImageFormat(rawValue: mediaType).canLoseMetadata }
}

extension AvatarStoreError {
    /// The error for an image whose metadata cannot be taken out.
    package static func keepsMetadata(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(
            .imageRefused,
            "\"\(key)\" has metadata, which can only be taken out of JPEG, PNG, GIF and WebP, and no rendition of it can be made."
        )
    }
}
