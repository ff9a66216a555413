import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarWriter

/// Makes the copy of an image without its metadata, and stores it like a rendition: under their share of the budget, and gone
/// with its original.
///
/// ```
/// look up ─► look for metadata ─► lease ─► look up again ─► copy ─► check ─► commit, if the original is still published
/// ```
///
/// Nothing is decoded: the parser that checks each image says which parts of the file to copy.
package struct MetadataRemoval: Sendable {
    /// The image without metadata.
    enum Outcome: Sendable {
        /// The image has none.
        case unneeded
        /// The stored copy.
        case stored(IndexHit)
        /// A view of the original that leaves the metadata out. There is no room for a copy, or the store is open for reading
        /// only.
        case view(StrippedImage<OpenFile>)
        /// The metadata cannot be taken out.
        case none
        /// The original was evicted, replaced or removed meanwhile.
        case lost
    }

    /// The name of the copy in the index, in place of a rendition's.
    static let spec = "without-metadata"
    /// The rendition that takes the place of an image whose metadata cannot be taken out.
    package static let largest = Rendition(size: .max)

    /// The bytes copied at once.
    private static let pieceSize = 64 << 10
    /// The limit on the wait for another process's lease. A copy takes milliseconds.
    private static let longestWait = Duration.seconds(10)

    private let fetching: FetchParts
    private let key: AvatarKey
    private let original: IndexHit

    private var parts: StoreParts { fetching.parts }

    /// - Parameter original: the hit of the image.
    init(of original: IndexHit, _ key: AvatarKey, _ fetching: FetchParts) {
        (self.original, self.key, self.fetching) = (original, key, fetching)
    }

    /// The image without metadata. The copy is made if necessary.
    ///
    /// - Throws: an error of the index or the disk; `CancellationError`.
    func run() async throws -> Outcome {
        if let stored = try storedCopy() { return .stored(stored) }
        guard let file = try parts.roots.open(original.file) else { return .lost }
        guard try await looksForMetadata(in: file) else { return .unneeded }
        let format = ImageFormat(rawValue: original.file.mediaType)
        guard format.canLoseMetadata else { return .none }
        let outcome = try await storeCopy(of: file, format)
        if case .stored(let hit) = outcome { return .stored(hit) }
        if case .lost = outcome { return .lost }
        do {
            return .view(try StrippedImage(of: file, as: format))
        } catch is ImageRejection {
            return .none
        }
    }

    /// The hit of the stored copy, if its file is there.
    private func storedCopy() throws -> IndexHit? {
        let hit = try parts.index.hit(for: key, rendition: Self.spec, of: original.file.id)
        return try hit.flatMap { try parts.roots.contains($0.file) ? $0 : nil }
    }

    /// Whether the image has metadata. Looks at a file of an earlier version, and records the result.
    private func looksForMetadata(in file: OpenFile) async throws -> Bool {
        if let known = try parts.index.hasMetadata(ofFile: original.file.id) { return known }
        // A file that is no image any more is damaged. It may hold anything.
        guard let found = try Self.hasMetadata(file) else { return true }
        try await parts.writable?.writer.noteMetadata([original.file.id: found])
        return found
    }

    /// Makes and stores the copy. Reads of one process share the work, and other processes wait for its lease.
    private func storeCopy(of file: OpenFile, _ format: ImageFormat) async throws -> RenditionWork.Outcome {
        guard let writable = parts.writable else { return .none("The store is open for reading only.") }
        let name = AvatarKey(stored: "rendition:\(original.file.id) \(Self.spec)")
        return try await fetching.renditionFlights.join(name) {
            let lease = try await writable.places.leases.take(
                name,
                within: Self.longestWait,
                parts.configuration.logger
            )
            defer { withExtendedLifetime(lease) {} }
            if let hit = try parts.index.hitInFile(for: key, rendition: Self.spec, of: original.file.id) {
                if try parts.roots.contains(hit.file) { return .stored(hit) }
                // Its file was purged. The row would prevent a new file.
                try await writable.writer.retireLost([hit.file])
            }
            guard let staged = try stageCopy(of: file, format, in: writable) else {
                return .none("The metadata cannot be taken out.")
            }
            return try await commit(staged, writable)
        }
    }

    /// Copies the image without its metadata to a staged file; `nil` if it cannot be done, or the copy fails the check that
    /// every image has to pass.
    private func stageCopy(
        of file: OpenFile,
        _ format: ImageFormat,
        in writable: StoreParts.Writable
    ) throws -> StagedImage? {
        do {
            let view = try StrippedImage(of: file, as: format)
            let copy = try writable.places.files(of: .caches).staging.stage()
            while copy.byteCount < view.byteCount {
                let bytes = try view.bytes(at: copy.byteCount, count: Self.pieceSize)
                guard !bytes.isEmpty else { return nil }
                try copy.write(bytes)
            }
            let description = try Self.inspector.inspect(copy)
            let size = (original.file.width, original.file.height)
            guard !description.hasMetadata, description.format == format,
                (description.width, description.height) == size
            else { return nil }
            return copy.finish(as: description)
        } catch is ImageRejection {
            return nil
        }
    }

    private func commit(_ staged: StagedImage, _ writable: StoreParts.Writable) async throws -> RenditionWork.Outcome {
        let source = RenditionSource(file: original.file.id, spec: Self.spec, thumbHash: [], isDecoded: false)
        var rules = RoomRules(try parts.limits())
        rules.isRendition = true
        // Evicting the original would delete this copy too.
        rules.protection = .files([original.file.id])
        let change = Change(key: key, content: .rendition(staged, of: source))
        switch try await writable.writer.commitNow(change, rules).outcome {
        case .stored:
            let hit = try parts.index.hitInFile(for: key, rendition: Self.spec, of: original.file.id)
            return hit.map(RenditionWork.Outcome.stored) ?? .lost
        case .overBudget: return .none("There is no room.")
        default: return .lost
        }
    }

    /// The inspector of stored images, which were within the limits when they were stored.
    private static let inspector = ImageInspector(maximumPixels: .max, allowsSVG: true)

    /// Whether the image in `source` has metadata; `nil` if it is no image.
    static func hasMetadata(_ source: some ByteSource) throws -> Bool? {
        do {
            return try inspector.inspect(source).hasMetadata
        } catch is ImageRejection {
            return nil
        }
    }

    /// The image `bytes` without its metadata; `nil` if it has some that cannot be taken out.
    ///
    /// - Throws: nothing that bytes in memory can cause.
    package static func strip(_ bytes: [UInt8]) throws -> [UInt8]? {
        do {
            let source = ByteArraySource(bytes)
            let description = try inspector.inspect(source)
            guard description.hasMetadata else { return bytes }
            guard description.format.canLoseMetadata else { return nil }
            let view = try StrippedImage(of: source, as: description.format)
            return try view.bytes(at: 0, count: view.byteCount)
        } catch is ImageRejection {
            return nil
        }
    }
}

extension MetadataRemoval {
    /// The image of `key` without its metadata, for an export: a rendition if metadata cannot be taken out of its
    /// format; `nil` if that cannot be made either. It is not stored.
    package static func exported(
        _ image: (bytes: [UInt8], mediaType: String),
        of key: AvatarKey,
        _ fetching: FetchParts
    ) async throws -> (bytes: [UInt8], mediaType: String)? {
        if let bytes = try strip(image.bytes) { return (bytes, image.mediaType) }
        return try await RenditionWork.exported(MetadataRemoval.largest, of: key, fetching)
    }
}
