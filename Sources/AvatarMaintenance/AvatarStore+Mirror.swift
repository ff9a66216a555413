public import AvatarReports
public import AvatarStore
import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarFoundation
import AvatarWriter

extension AvatarStore {
    /// Makes `directory` a mirror of the stored images, for a web server or a copying program: writes what is new or
    /// changed, leaves what is unchanged, deletes what has vanished.
    ///
    /// The file `manifest.jsonl` tells the next mirroring how the files are named and which are its own; a file counts as unchanged if its length
    /// and time of change are those in the manifest. All other files are foreign: they stay, and an image with such a name
    /// is left out, unless `MirrorOptions.deletesForeign` is set. Each file appears whole, by a rename, with the time
    /// of this call; nothing is synchronized to stable storage. With `MirrorOptions.isDryRun` nothing is written, and the
    /// report lists what would be. Memory: about 500 bytes per image, 650 if one is missing. Changes nothing in the
    /// store; possible in a store that is open for reading only.
    ///
    /// - Parameter query: the images to mirror; of its conditions only the class and the contact count. Default: all.
    /// - Parameter directory: an absolute path. It is created if it is missing. No other user may be able to change it.
    /// - Parameter options: names, sizes and permissions.
    /// - Parameter progress: called after each image.
    /// - Throws: `invalidConfiguration` for a path that is not absolute or lies inside the store; `unusableRoot` if it is a
    ///   symbolic link or a file, or belongs to another user than this process's and root, or if all users may write to it;
    ///   `notEmpty` with `MirrorOptions.deletesForeign` if the folder has files but no manifest; `busy` if another export to it
    ///   is running; `diskFull`; another error of the index or the disk; `CancellationError`. The files written so far
    ///   stay, and the next mirroring goes on from there; nothing was deleted then.
    public func mirrorImages(
        _ query: AvatarListQuery = AvatarListQuery(),
        to directory: String,
        options: MirrorOptions = MirrorOptions(),
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> MirrorReport {
        let mirror = ImageMirror(
            of: query,
            from: fetching,
            to: try exportDirectory(directory),
            options,
            progress: progress
        )
        return try await mirror.run()
    }
}

/// One mirroring.
///
/// A line in the journal precedes each file, so that a later run knows the files of one that was killed. The order is: journal and
/// files, deletions, the new manifest takes its name, the journal goes.
private actor ImageMirror {
    /// An image to write.
    private struct Wanted {
        let key: AvatarKey
        /// The text that names the file, and the text that tells it from others.
        let title: String
        let identity: String
        let owners: [String]
    }

    /// An image and the contacts it is for, by which the manifest of an earlier run tells its files apart.
    private struct Subject: Hashable {
        let key: String?
        let owners: [String]?
    }

    private let fetching: FetchParts
    private let query: AvatarListQuery
    private let directory: String
    private let options: MirrorOptions
    private let progress: ProgressHandler
    private let mode: UInt32
    /// The time of all files that this run writes, in seconds since 1970.
    private let time: Int64

    /// The files of earlier runs, by name.
    private var known: [String: ImageManifest.Entry] = [:]
    /// The names in `known`, so that many missing images do not each look through all of them; `nil` until an image is missing.
    private var namesBySubject: [Subject: [String]]?
    /// The names of this run, also of images that are missing or blocked.
    private var names: Set<String> = []
    /// The names among them of files that this run writes.
    private var written: Set<String> = []
    /// The result so far. Its naming is known once the manifests are read.
    private var report = MirrorReport()
    /// Whether the folder has a manifest or a journal of an earlier export.
    private var isMirror = false
    private var manifestBytes = 0
    private var journalBytes = 0

    /// Its own thread, because copying blocks for long.
    private let thread = StoreThread(label: "avatar-store.mirror")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    private static let manifest = ImageManifest.name
    private static let newManifest = ImageManifest.name + ".new"
    private static let journal = ImageManifest.name + ".journal"
    private static let unfinishedFile = ".avatars-mirror"

    init(
        of query: AvatarListQuery,
        from fetching: FetchParts,
        to directory: String,
        _ options: MirrorOptions,
        progress: @escaping ProgressHandler
    ) {
        (self.fetching, self.query, self.directory) = (fetching, query, directory)
        (self.options, self.progress) = (options, progress)
        mode = options.fileMode ?? fetching.parts.configuration.fileMode
        time = fetching.parts.clock.now().milliseconds / 1000
    }

    private var index: AvatarIndex { fetching.parts.index }

    func run() async throws -> MirrorReport {
        if options.isDryRun {
            let folder = try ImageFolder.ofExport(directory, fileMode: nil)
            try readManifests(of: folder)
            try await writeImages(to: folder)
            if let folder { try deleteOthers(in: folder) }
            return report
        }
        guard let folder = try ImageFolder.ofExport(directory, fileMode: mode) else { return report }
        try folder.lock()
        try readManifests(of: folder)
        folder.remove(Self.unfinishedFile)
        folder.remove(Self.newManifest)
        try folder.append([], to: Self.newManifest, at: 0, mode: mode)
        try await writeImages(to: folder)
        try deleteOthers(in: folder)
        if manifestBytes == 0 { try noteNaming(in: folder) }
        try folder.rename(Self.newManifest, to: Self.manifest)
        folder.remove(Self.journal)
        return report
    }

    /// Writes all images.
    ///
    /// - Parameter folder: `nil` in the dry run for a folder that does not exist.
    private func writeImages(to folder: ImageFolder?) async throws {
        try await forEachWanted { wanted in
            try Task.checkCancellation()
            try await write(wanted, to: folder)
            let done = report.written + report.unchanged
            let failed = report.missing + report.blocked
            progress(WorkProgress(.exporting, .files, done: done, of: nil, failed: failed, bytes: report.bytes))
        }
    }

    /// Learns which files earlier runs wrote, and how they are named. The journal has those of a run that was killed.
    ///
    /// - Parameter folder: `nil` in the dry run for a folder that does not exist.
    private func readManifests(of folder: ImageFolder?) throws {
        var former: MirrorOptions.Names?
        var formerRendition: String?
        if let folder {
            let journal = try ImageManifest.lines(of: folder, named: Self.journal) ?? []
            for line in try (ImageManifest.lines(of: folder) ?? []) + journal {
                guard let entry = line.entry else { continue }
                isMirror = true
                former = entry.names.flatMap(MirrorOptions.Names.init) ?? former
                formerRendition = entry.rendition
                // A run that was killed may have noted a file, and left the earlier one in its place.
                guard ImageFolder.isPlain(entry.file), !isOwn(entry.file, in: folder) else { continue }
                known[entry.file] = entry
            }
            if case .file(let bytes) = try folder.read(Self.journal, limit: ImageManifest.maximumBytes) {
                // A line that was cut short gives way to the next one.
                journalBytes = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            }
        }
        if let folder, !isMirror, options.deletesForeign { try requireNoFiles(in: folder) }
        report.names = options.names ?? former ?? .ids
        report.formerNames = former == report.names ? nil : former
        report.formerRendition = formerRendition == options.rendition.map { "\($0)" } ? nil : formerRendition
    }

    // MARK: The images

    private func forEachWanted(_ body: (Wanted) async throws -> Void) async throws {
        if report.names == .keys { return try await forEachImage(body) }
        if let contact = query.contact {
            if let wanted = try index.contact(contact).flatMap(wanted) { try await body(wanted) }
            return
        }
        var position: String?
        repeat {
            let page = try index.contacts(StoredContactQuery(limit: 256, after: position))
            for contact in page.contacts {
                if let wanted = try wanted(contact) { try await body(wanted) }
            }
            position = page.next
        } while position != nil
    }

    private func forEachImage(_ body: (Wanted) async throws -> Void) async throws {
        var query = query
        query.after = nil
        query.limit = AvatarListQuery().limit
        repeat {
            let page = try index.list(query.withSortName)
            for item in page.items where item.localFile != nil {
                let (key, title) = (item.key, ImageFileName.title(of: item.key))
                try await body(Wanted(key: key, title: title, identity: key.rawValue, owners: item.contacts))
            }
            query.after = page.next
        } while query.after != nil
    }

    /// The image of a contact; `nil` if it shows none of the requested class.
    private func wanted(_ contact: StoredContact) throws -> Wanted? {
        guard let key = try index.image(of: contact.id)?.key else { return nil }
        if let storageClass = query.storageClass, try index.entry(for: key)?.file?.storageClass != storageClass {
            return nil
        }
        let title = report.names == .names ? contact.name ?? contact.id : contact.id
        return Wanted(key: key, title: title, identity: contact.id, owners: [contact.id])
    }

    private func name(of wanted: Wanted, _ mediaType: String) -> String {
        let format = ImageFormat(rawValue: mediaType)
        // An id that is a file name as it stands is the name of no other id.
        return report.names == .ids && ImageFileName.isExact(wanted.title, format: format)
            ? ImageFileName.make(title: wanted.title, format: format)
            : ImageFileName.makeDistinct(title: wanted.title, identity: wanted.identity, format: format)
    }

    // MARK: Writing

    /// Writes one image, unless the folder has it.
    private func write(_ wanted: Wanted, to folder: ImageFolder?) async throws {
        guard let entry = try index.entry(for: wanted.key), let file = entry.file else {
            return try keepEarlierFile(of: wanted, in: folder)
        }
        let original = Hexadecimal.text(entry.sha256 ?? [])
        if let old = unchanged(wanted, original: original, mediaType: file.mediaType, in: folder) {
            if !options.isDryRun { try folder?.setMode(mode, of: old.file) }
            names.insert(old.file)
            report.unchanged += 1
            return try note(old, in: folder, named: Self.newManifest, at: &manifestBytes)
        }
        let image: OutgoingImage
        switch try await OutgoingImage.find(
            wanted.key,
            as: options.rendition,
            withoutMetadata: options.withoutMetadata,
            fetching
        ) {
        case .image(let found): image = found
        case .withheld: return report.withheld += 1
        case .missing: return try keepEarlierFile(of: wanted, in: folder)
        }
        let name = name(of: wanted, image.mediaType)
        guard names.insert(name).inserted, isFree(name, in: folder) else { return report.block(name) }
        written.insert(name)
        if image.lacksRendition { report.originals += 1 }
        report.written += 1
        report.bytes += image.bytes.count
        if options.isDryRun { report.filesToWrite.append(name) }
        guard !options.isDryRun, let folder else { return }
        var line = image.line(name, owners: wanted.owners)
        line.modified = time
        line.rendition = options.rendition.map { "\($0)" }
        line.withoutMetadata = options.withoutMetadata ? true : nil
        try note(line, in: folder, named: Self.journal, at: &journalBytes)
        try folder.replace(name, by: image.bytes, through: Self.unfinishedFile, mode: mode, time: time)
        try note(line, in: folder, named: Self.newManifest, at: &manifestBytes)
        known[name] = line
    }

    /// Counts a missing image. Its file of an earlier run is better than none, unless the image was removed or is ignored.
    private func keepEarlierFile(of wanted: Wanted, in folder: ImageFolder?) throws {
        report.missing += 1
        guard let entry = try index.entry(for: wanted.key),
            entry.file != nil || entry.absence == .evicted || entry.absence == .missing
        else { return }
        if namesBySubject == nil {
            namesBySubject = Dictionary(grouping: known.keys) {
                Subject(key: known[$0]?.key, owners: known[$0]?.owners)
            }
        }
        let subject = Subject(key: wanted.key.rawValue, owners: wanted.owners)
        for name in namesBySubject?[subject] ?? [] {
            // This run may have written another image under the name.
            guard let old = known[name], old.key == subject.key, old.owners == subject.owners else { continue }
            names.insert(name)
            try note(old, in: folder, named: Self.newManifest, at: &manifestBytes)
        }
    }

    /// Whether an image may be written under `name`: there is no file, or one that gives way.
    private func isFree(_ name: String, in folder: ImageFolder?) -> Bool {
        guard let folder, folder.has(name), !isOwn(name, in: folder) else { return true }
        return options.deletesForeign && !folder.hasFolder(name)
    }

    /// The line of the file that shows this image already; `nil` without such a file.
    private func unchanged(
        _ wanted: Wanted,
        original: String,
        mediaType: String,
        in folder: ImageFolder?
    ) -> ImageManifest.Entry? {
        guard let folder else { return nil }
        // The format of a rendition is not known before it is made.
        let isAsStored = options.rendition == nil && !options.withoutMetadata
        let types = isAsStored ? [mediaType] : [mediaType, "image/jpeg", "image/png", "image/webp"]
        for type in types {
            guard let line = known[name(of: wanted, type)], line.key == wanted.key.rawValue,
                line.owners == wanted.owners, line.original ?? line.sha256 == original,
                line.rendition == options.rendition.map({ "\($0)" }),
                (line.withoutMetadata ?? false) == options.withoutMetadata, isOwn(line.file, in: folder)
            else { continue }
            // Empty after a loss of power.
            return folder.stamp(of: line.file)?.size == line.sizeBytes ? line : nil
        }
        return nil
    }

    /// Whether the file was written by this or an earlier run, and not changed since.
    private func isOwn(_ name: String, in folder: ImageFolder) -> Bool {
        guard let line = known[name], let stamp = folder.stamp(of: name) else { return false }
        // A loss of power can leave a new file empty.
        guard stamp.size == line.sizeBytes || stamp.size == 0 else { return false }
        // The lines of a plain export have no time.
        return line.modified.map { $0 == stamp.time } ?? true
    }

    /// Appends a line to the manifest that only tells how the files are named, because there is no file.
    private func noteNaming(in folder: ImageFolder) throws {
        try note(ImageManifest.Entry(file: ""), in: folder, named: Self.newManifest, at: &manifestBytes)
    }

    /// Appends a line to the manifest or the journal.
    private func note(
        _ entry: ImageManifest.Entry,
        in folder: ImageFolder?,
        named name: String,
        at position: inout Int
    ) throws {
        guard !options.isDryRun, let folder else { return }
        var entry = entry
        entry.names = report.names.rawValue
        let line = try entry.line
        try folder.append(line, to: name, at: position, mode: mode)
        position += line.count
    }

    // MARK: Deleting

    /// The names of the files that only a mirroring reads.
    private static let administration: Set = [manifest, newManifest, journal, unfinishedFile]

    /// - Throws: `notEmpty` if the folder has files, which no export can have written.
    private func requireNoFiles(in folder: ImageFolder) throws {
        let names = try folder.names().filter { !Self.administration.contains($0) && !folder.hasFolder($0) }
        guard let name = names.first else { return }
        throw AvatarStoreError(
            .notEmpty,
            "\"\(folder.path)\" has no manifest of `avatars export`, but holds \"\(name)\"\(names.count > 1 ? " and more" : ""). "
                + "`--delete-foreign` deletes files only in a folder that was exported to before. Run the command without it first."
        )
    }

    /// Deletes files that earlier runs wrote and this one did not, and foreign files if the options say so.
    private func deleteOthers(in folder: ImageFolder) throws {
        // A dry run does not remove the unfinished file of a killed run.
        for name in try folder.names() where !Self.administration.contains(name) {
            let isOwn = isOwn(name, in: folder)
            if names.contains(name) {
                if !isOwn, !written.contains(name) { report.keepForeign(name) }
            } else if isOwn || options.deletesForeign && !folder.hasFolder(name) {
                if options.isDryRun { report.filesToDelete.append(name) } else { folder.remove(name) }
                report.deleted += 1
            } else {
                report.keepForeign(name)
            }
        }
    }
}
