public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex

/// What an export wrote.
public struct ExportReport: Hashable, Sendable {
    /// Images, each a file.
    public var images = 0
    /// The bytes of those files.
    public var bytes = 0
    /// Entries whose file was purged, lost or damaged; they are left out.
    public var missing = 0
}

extension AvatarStore {
    /// Writes each stored image that `query` asks for into `directory`, an absolute path, for people: as a copy under a
    /// name after its key, with an ending that fits its type. `manifest.jsonl` says of each file what
    /// `importPictures(from:)` needs to bring it back.
    ///
    /// Whatever a key holds, no name leads out of the directory. The files are copies: changing them changes nothing in
    /// the store. They are written when this returns, and on stable storage when the system sees fit. A file that several
    /// keys share is written once for each. Changes nothing in the store, and is possible in one that is open for reading
    /// only.
    ///
    /// - Parameter query: which entries; its page size and place are not used. Default: all.
    /// - Parameter directory: is made if it is not there, and must be empty. What an export to it left that was killed is
    ///   cleared.
    /// - Parameter progress: is told how far it has come.
    /// - Throws: `notEmpty`; `invalidConfiguration` for a path that is not absolute, or inside the store; `diskFull` and
    ///   other errors of the index and the disk; `CancellationError`. The files that were written are gone then.
    public func exportPictures(
        _ query: AvatarListQuery = AvatarListQuery(),
        to directory: String,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ExportReport {
        let directory = try StoreLayout.absoluteDirectory(directory)
        try configuration.layout.requireOutside(directory)
        return try await PictureExport(of: query, from: self, to: directory, progress: progress).run()
    }
}

/// One export.
private actor PictureExport {
    private let store: AvatarStore
    private let query: AvatarListQuery
    private let directory: String
    private let progress: ProgressHandler
    private var report = ExportReport()
    private var manifestBytes = 0

    /// Copying blocks for long.
    private let thread = StoreThread(label: "avatar-store.export")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    init(
        of query: AvatarListQuery,
        from store: AvatarStore,
        to directory: String,
        progress: @escaping ProgressHandler
    ) {
        self.store = store
        self.query = query
        self.directory = directory
        self.progress = progress
    }

    func run() throws -> ExportReport {
        let folder = try PictureFolder(writing: directory, fileMode: store.configuration.fileMode)
        try folder.lock()
        try clearLeftovers(in: folder)
        do {
            try write(to: folder)
            try folder.rename(PictureManifest.unfinishedName, to: PictureManifest.name)
            return report
        } catch {
            // What could not be read again is named by the next export to this place.
            try? clearLeftovers(in: folder)
            throw error
        }
    }

    /// Removes what an export left that was killed: the unfinished manifest names each file before it is made.
    private func clearLeftovers(in folder: PictureFolder) throws {
        for line in try PictureManifest.lines(of: folder, named: PictureManifest.unfinishedName) ?? [] {
            if let file = line.entry?.file { folder.remove(file) }
        }
        folder.remove(PictureManifest.unfinishedName)
        let names = try folder.names()
        guard let name = names.first else { return }
        throw AvatarStoreError(
            .notEmpty,
            "\(folder.path) is not empty: it holds \(name)\(names.count > 1 ? " and more" : ""). Choose a place that is."
        )
    }

    private func write(to folder: PictureFolder) throws {
        // An empty manifest is one, too.
        try folder.append([], to: PictureManifest.unfinishedName, at: 0, mode: store.configuration.fileMode)
        let total = try query.selectsAll ? store.index.imageCount() : nil
        var query = query
        query.after = nil
        query.limit = AvatarListQuery().limit
        repeat {
            let page = try store.index.list(query)
            for item in page.items where item.localFile != nil {
                try Task.checkCancellation()
                try write(item, to: folder)
                let total = total.map { max($0, report.images) }
                let (done, failed, bytes) = (report.images, report.missing, report.bytes)
                progress(WorkProgress(.exporting, .files, done: done, of: total, failed: failed, bytes: bytes))
            }
            query.after = page.next
        } while query.after != nil
    }

    private func write(_ item: AvatarListItem, to folder: PictureFolder) throws {
        let key = AvatarKey(stored: item.key)
        // Somebody may replace or evict the image meanwhile.
        for _ in 0..<3 {
            guard let entry = try store.index.entry(for: key), let file = entry.file else { break }
            guard let bytes = try store.roots.read(file), ContentDigest.sha256(bytes) == entry.sha256 else { continue }
            let name = name(for: key, ImageFormat(rawValue: file.mediaType), in: folder)
            try note(entry, file: file, owners: item.owners, as: name, in: folder)
            try folder.write(bytes, to: name, mode: store.configuration.fileMode)
            report.images += 1
            report.bytes += bytes.count
            return
        }
        report.missing += 1
    }

    private func name(for key: AvatarKey, _ format: ImageFormat, in folder: PictureFolder) -> String {
        let name = PictureName.make(for: key, format: format)
        return folder.has(name) || name == PictureManifest.name
            ? PictureName.makeDistinct(for: key, format: format) : name
    }

    private func note(
        _ entry: AvatarEntry,
        file: FileRecord,
        owners: [String],
        as name: String,
        in folder: PictureFolder
    ) throws {
        let line = try PictureManifest.Entry(
            file: name,
            key: entry.key.rawValue,
            sourceURL: entry.sourceURL,
            storageClass: file.storageClass.rawValue,
            owners: owners,
            mediaType: file.mediaType,
            sizeBytes: file.sizeBytes,
            sha256: entry.sha256.map(Hexadecimal.text)
        ).line
        try folder.append(
            line,
            to: PictureManifest.unfinishedName,
            at: manifestBytes,
            mode: store.configuration.fileMode
        )
        manifestBytes += line.count
    }
}

extension AvatarListQuery {
    fileprivate var selectsAll: Bool { storageClass == nil && state == nil && host == nil && owner == nil }
}
