import AvatarFileSystem
public import AvatarReports
public import AvatarStore
public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarWriter

/// The result of an export.
public struct ExportReport: Hashable, Sendable {
    /// The number of images, each a file.
    public var images = 0
    /// The bytes of those files.
    public var bytes = 0
    /// The number of entries left out because their file is missing or damaged.
    public var missing = 0
    /// The number of images left out because they have metadata that cannot be taken out; 0 in an export of images as they are
    /// stored.
    public var withheld = 0
    /// The number of originals exported because no rendition could be made of them; 0 in an export without renditions.
    public var originals = 0
    /// The number of vCards; 0 in an export without them.
    public var cards = 0
    /// The number of contacts without a vCard, because their image is not JPEG, PNG or GIF, or has metadata that cannot be taken
    /// out, and no JPEG could be made of it.
    public var withoutCard = 0
    /// The number of pages for people; 0 in an export without them.
    public var pages = 0
}

extension AvatarStore {
    /// Copies each stored image that matches `query` into `directory`, under a readable name made from its key, with an
    /// extension that fits its type. The file `manifest.jsonl` has what `importImages(from:in:named:progress:)` needs to
    /// bring the images back.
    ///
    /// No key makes a name that leads out of the directory. The files are copies, so changing them does not change the
    /// store. They are written when this returns, but not synchronized to stable storage. A file that several keys
    /// share is written once for each. Changes nothing in the store; possible in a store that is open for reading only.
    ///
    /// - Parameter query: the entries to export; its limit and position are ignored. Default: all.
    /// - Parameter directory: an absolute path. It is created if it is missing, and must be empty. The remains of a
    ///   killed export are removed first. No other user may be able to change it.
    /// - Parameter rendition: the rendition to export of each image, made if necessary and not stored. If the image cannot be
    ///   decoded, or no quality and size fits `Rendition.maxBytes`, its original is exported. Default: `nil`, all originals.
    /// - Parameter withCards: whether to write `contacts.vcf` too: one vCard 3.0 for each contact, with its exported image. A
    ///   image that is not JPEG, PNG or GIF is a rendition in JPEG there, because address books read no other formats.
    ///   Cards have images without metadata, unless `Setting.servesMetadata` is 1. Default: false.
    /// - Parameter withoutMetadata: whether to export images without their metadata. An image with metadata that cannot be
    ///   taken out is exported as a rendition, or left out. Default: false.
    /// - Parameter progress: called after each image.
    /// - Throws: `notEmpty` if `directory` holds files; `unusableRoot` if it is a symbolic link or a file, or belongs to
    ///   another user than this process's and root, or if all users may write to it; `invalidConfiguration` for a path that is
    ///   not absolute or lies inside the store; `busy` if another export to it is running; `diskFull`; another error of the index or the
    ///   disk; `CancellationError` if the task is cancelled. The files written so far are removed then.
    public func exportImages(
        _ query: AvatarListQuery = AvatarListQuery(),
        to directory: String,
        as rendition: Rendition? = nil,
        withCards: Bool = false,
        withoutMetadata: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ExportReport {
        let directory = try exportDirectory(directory)
        let export = ImageExport(of: query, from: fetching, to: directory, progress: progress)
        let metadata = try MetadataRules(inImages: !withoutMetadata, inCards: value(of: .servesMetadata) == 1)
        return try await export.run(as: rendition, metadata, withCards: withCards, pages: nil)
    }

    /// As `exportImages(_:to:as:withCards:withoutMetadata:progress:)`, with pages for people beside the images, which have no
    /// metadata unless `Setting.servesMetadata` is 1.
    ///
    /// - Parameter pages: writes the pages once all images are written, and returns their number. If it fails, the images
    ///   are removed too.
    package func exportImages(
        _ query: AvatarListQuery,
        to directory: String,
        progress: @escaping ProgressHandler,
        pages: @escaping @Sendable (ExportFolder) throws -> Int
    ) async throws -> ExportReport {
        let directory = try exportDirectory(directory)
        let export = ImageExport(of: query, from: fetching, to: directory, progress: progress)
        let isKept = try value(of: .servesMetadata) == 1
        let metadata = MetadataRules(inImages: isKept, inCards: isKept)
        return try await export.run(as: nil, metadata, withCards: false, pages: pages)
    }

    /// - Throws: `invalidConfiguration` for a path that is not absolute or lies inside the store.
    func exportDirectory(_ directory: String) throws -> String {
        let directory = try StoreLayout.absoluteDirectory(directory)
        try configuration.layout.requireOutside(directory, on: parts.fileSystem)
        return directory
    }
}

/// The parts of an export that keep the metadata of images.
private struct MetadataRules {
    let inImages: Bool
    let inCards: Bool
}

/// One export.
private actor ImageExport {
    private let fetching: FetchParts
    private let query: AvatarListQuery
    private let directory: String
    private let progress: ProgressHandler
    /// The images for the pages; `nil` in an export without pages.
    private var exported: ExportedImages?
    private var rendition: Rendition?
    private var metadata = MetadataRules(inImages: false, inCards: false)
    private var report = ExportReport()
    /// The length of the vCards so far; `nil` in an export without them.
    private var cardBytes: Int?
    /// The length of the manifest so far: the place of its next line.
    private var manifestBytes = 0

    /// Its own thread, because copying blocks for long.
    private let thread = StoreThread(label: "avatar-store.export")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    init(
        of query: AvatarListQuery,
        from fetching: FetchParts,
        to directory: String,
        progress: @escaping ProgressHandler
    ) {
        (self.fetching, self.query) = (fetching, query)
        (self.directory, self.progress) = (directory, progress)
    }

    private var parts: StoreParts { fetching.parts }

    /// Exports all images. The manifest gets its final name last, so a killed export is not taken for a finished one.
    func run(
        as rendition: Rendition?,
        _ metadata: MetadataRules,
        withCards: Bool,
        pages: (@Sendable (ExportFolder) throws -> Int)?
    ) async throws -> ExportReport {
        self.rendition = rendition
        self.metadata = metadata
        cardBytes = withCards ? 0 : nil
        exported = pages.map { _ in ExportedImages() }
        guard let folder = try ImageFolder.ofExport(directory, fileMode: parts.configuration.fileMode) else {
            return report
        }
        try folder.lock()
        try clearLeftovers(in: folder)
        do {
            try await write(to: folder)
            if let pages, let exported {
                let mode = parts.configuration.fileMode
                report.pages = try pages(ExportFolder(folder, images: exported, fileMode: mode))
            }
            try folder.rename(ImageManifest.unfinishedName, to: ImageManifest.name)
            return report
        } catch {
            // If this fails, the next export to this place removes the files.
            try? clearLeftovers(in: folder)
            throw error
        }
    }

    /// Removes the remains of a killed export: the unfinished manifest names each file before it is created.
    private func clearLeftovers(in folder: ImageFolder) throws {
        if let lines = try ImageManifest.lines(of: folder, named: ImageManifest.unfinishedName) {
            for line in lines {
                if let file = line.entry?.file { folder.remove(file) }
            }
            folder.remove(ImageManifest.firstPageName)
            folder.remove(ImageManifest.cardsName)
            try folder.removeFolder(ImageManifest.pageFolderName, filesEndingIn: ImageManifest.pageSuffixes)
            folder.remove(ImageManifest.unfinishedName)
        }
        let names = try folder.names()
        guard let name = names.first else { return }
        throw AvatarStoreError(
            .notEmpty,
            "\"\(folder.path)\" is not empty: it holds \"\(name)\"\(names.count > 1 ? " and more" : ""). Choose an empty "
                + "directory."
        )
    }

    /// Writes the matching images, page by page.
    private func write(to folder: ImageFolder) async throws {
        // An export without images writes an empty manifest.
        try folder.append([], to: ImageManifest.unfinishedName, at: 0, mode: parts.configuration.fileMode)
        let total = try query.selectsAll ? parts.index.imageCount() : nil
        var query = query
        query.after = nil
        query.limit = AvatarListQuery().limit
        repeat {
            let page = try parts.index.list(query.withSortName)
            for item in page.items where item.localFile != nil {
                try Task.checkCancellation()
                try await write(item, to: folder)
                let total = total.map { max($0, report.images) }
                let (done, failed, bytes) = (report.images, report.missing, report.bytes)
                progress(WorkProgress(.exporting, .files, done: done, of: total, failed: failed, bytes: bytes))
            }
            query.after = page.next
        } while query.after != nil
    }

    /// Writes one image, or counts it as missing or withheld.
    private func write(_ item: AvatarListItem, to folder: ImageFolder) async throws {
        let found = try await OutgoingImage.find(
            item.key,
            as: rendition,
            withoutMetadata: !metadata.inImages,
            fetching
        )
        switch found {
        case .missing: report.missing += 1
        case .withheld: report.withheld += 1
        case .image(let image):
            if image.lacksRendition { report.originals += 1 }
            let name = name(for: item.key, ImageFormat(rawValue: image.mediaType), in: folder)
            try note(image, as: name, of: item, in: folder)
            try folder.write(image.bytes, to: name, mode: parts.configuration.fileMode)
            try await writeCards(of: item.contacts, item.key, (image.bytes, image.mediaType), in: folder)
            report.images += 1
            report.bytes += image.bytes.count
        }
    }

    /// Appends the cards of the contacts that show this image.
    private func writeCards(
        of contacts: [String],
        _ key: AvatarKey,
        _ image: (bytes: [UInt8], mediaType: String),
        in folder: ImageFolder
    ) async throws {
        guard var place = cardBytes else { return }
        // A contact may have several images, and shows the first of them.
        let shown = try contacts.filter { try parts.index.image(of: $0)?.key == key }
        guard !shown.isEmpty else { return }
        guard let photo = try await cardPhoto(of: key, image) else { return report.withoutCard += shown.count }
        for contact in shown {
            let name = try parts.index.contact(contact)?.name
            let card = ContactCard.text(id: contact, name: name, photo: photo.bytes, mediaType: photo.mediaType)
            try folder.append(card, to: ImageManifest.cardsName, at: place, mode: parts.configuration.fileMode)
            place += card.count
            report.cards += 1
        }
        cardBytes = place
    }

    /// The image for the cards: the exported one, or a rendition of it in JPEG; `nil` if that cannot be made.
    private func cardPhoto(
        of key: AvatarKey,
        _ image: (bytes: [UInt8], mediaType: String)
    ) async throws -> (bytes: [UInt8], mediaType: String)? {
        var image = image
        if !metadata.inCards {
            guard let clean = try await MetadataRemoval.exported(image, of: key, fetching) else { return nil }
            image = clean
        }
        guard !ContactCard.mediaTypes.contains(image.mediaType) else { return image }
        let wanted = Rendition(
            size: rendition?.size ?? .max,
            format: .jpeg,
            fit: rendition?.fit ?? .inside,
            maxBytes: rendition?.maxBytes
        )
        return try await RenditionWork.exported(wanted, of: key, fetching)
    }

    /// A name that no earlier image of the export has.
    private func name(for key: AvatarKey, _ format: ImageFormat, in folder: ImageFolder) -> String {
        let name = ImageFileName.make(for: key, format: format)
        return folder.has(name) || name == ImageManifest.name || name == ImageManifest.cardsName
            ? ImageFileName.makeDistinct(for: key, format: format) : name
    }

    /// Appends the file's line to the manifest, before the file is written.
    private func note(
        _ image: OutgoingImage,
        as name: String,
        of item: AvatarListItem,
        in folder: ImageFolder
    ) throws {
        var entry = image.line(name, owners: item.contacts)
        // Only the pages tell of it.
        if exported == nil { entry.original = nil }
        let line = try entry.line
        try folder.append(
            line,
            to: ImageManifest.unfinishedName,
            at: manifestBytes,
            mode: parts.configuration.fileMode
        )
        exported?.note(item.key, at: manifestBytes, count: line.count)
        manifestBytes += line.count
    }
}

extension AvatarListQuery {
    fileprivate var selectsAll: Bool {
        storageClass == nil && state == nil && host == nil && contact == nil && contactName == nil
    }
}
