import AvatarReports
import AvatarStore
import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarIndex
import AvatarWriter

/// The place and the file mode of a copy.
struct CopyTarget: Sendable {
    var layout: StoreLayout
    /// A directory that must hold nothing else; `nil` for a restore.
    var directory: String?
    var fileMode: UInt32
    var fileSystem: any FileSystem
    /// Whether hard links will do.
    var links = true
}

/// Copies a store: into a backup, or from a backup into a new store.
///
/// The index comes first, as it is at one moment, under a temporary name. Its files follow one by one. Once all of it
/// is durable, the index gets its name.
actor StoreCopier {
    /// Its own thread, because copying blocks for long.
    private let thread = StoreThread(label: "avatar-store.copier")
    private let progress: ProgressHandler

    init(_ progress: @escaping ProgressHandler) {
        self.progress = progress
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    /// Copies a store that other processes go on changing.
    ///
    /// - Parameter noteLoss: records that the store may have lost bytes, because a synchronization of the copy has failed.
    func backup(
        _ index: AvatarIndex,
        _ roots: StoredRoots,
        to target: CopyTarget,
        _ noteLoss: () async -> Void
    ) async throws -> BackupReport {
        var target = target
        // A synchronization does not write what an earlier one has lost, but a copy has what can be read.
        target.links = try !BootRecord.hasFailed(in: index)
        return try await build(target, from: roots, noteLoss) { [target] path in
            try index.copy(to: path, fileMode: target.fileMode)
        } takeFiles: { copy, files in
            let run = BackupRun(index: index, copy: copy, files: files)
            try run.takeFiles()
            // Meanwhile a process may have lost bytes of files that the copy has links to.
            if target.links, try BootRecord.hasFailed(in: index) {
                throw AvatarStoreError(
                    .storage,
                    "A synchronization of the store in \"\(index.path)\" failed during the backup. Make the backup again."
                )
            }
            return LeftOut(entries: run.missing)
        }
    }

    /// Copies a backup, which no process changes. Missing and damaged files are left out; their entries stay without a
    /// file. Caches that the store of the backup left at the place are taken over.
    func restore(_ source: StoreLayout, to target: CopyTarget) async throws -> BackupReport {
        let fileSystem = target.fileSystem
        let staging = source.staging(of: .documents)
        let id = try RootMark.owner(ofRoot: source.documentsRoot, in: staging, on: fileSystem)
        let roots = try StoredRoots(source, on: fileSystem, allowsNetwork: true)
        return try await build(target, from: roots, restoring: id) { path in
            try ReadOnlyIndex.read(source, on: fileSystem) { isImmutable in
                try IndexCopy.make(
                    of: source.indexPath,
                    on: fileSystem,
                    isImmutable: isImmutable,
                    at: path,
                    fileMode: target.fileMode
                )
            }
        } takeFiles: { copy, files in
            var leftOut = LeftOut()
            try copy.forEachFile { file, sha256 in
                let outcome = try files.take(file)
                if outcome != .missing, try files.digest(of: file) == sha256 { return }
                if outcome == .taken { try files.drop(file.path, of: file.storageClass) }
                let keys = try copy.write { transaction in
                    let users = try transaction.users(ofFile: file.id)
                    try transaction.forgetFile(id: file.id, holder: "copy")
                    return users.map(\.key)
                }
                leftOut.entries += keys.count
                if file.storageClass == .documents { leftOut.documents += keys }
            }
            return leftOut
        }
    }

    /// Entries that the copy has without their files.
    private struct LeftOut {
        var entries = 0
        /// The entries among them that are documents.
        var documents: [AvatarKey] = []
    }

    /// The steps that a backup and a restore share.
    private func build(
        _ target: CopyTarget,
        from source: StoredRoots,
        restoring storeID: String? = nil,
        _ noteLoss: () async -> Void = {},
        copyIndex: (String) throws -> IndexCopy,
        takeFiles: (IndexCopy, FileCopiers) throws -> LeftOut
    ) async throws -> BackupReport {
        let place = try UnfinishedStore(
            target.layout,
            on: target.fileSystem,
            aloneIn: target.directory,
            restoring: storeID,
            fileMode: target.fileMode
        )
        do {
            progress(WorkProgress(.copyingIndex, .files))
            let copy = try copyIndex(place.indexPath)
            let total = try copy.write { transaction in
                try StorageClass.allCases.reduce(0) { $0 + (try transaction.total(of: $1).files) }
            }
            let id = try copy.write { transaction in
                try transaction.forgetWork()
                return try transaction.storeID()
            }
            let roots = try place.makeRoots(for: id)
            let count = FileCount(total, progress)
            let leftOut = try takeFiles(copy, FileCopiers(from: source, to: roots, target, count))
            var report = try copy.write { try BackupReport(of: $0) }
            report.missing = leftOut.entries
            report.lostDocuments = leftOut.documents
            try copy.close()
            try Task.checkCancellation()
            progress(WorkProgress(.synchronizing, .files))
            try place.finish()
            return report
        } catch {
            // Before the copy is removed, which may take long.
            let call = (error as? AvatarStoreError)?.underlying as? SystemCallError
            if call?.isSynchronization == true { await noteLoss() }
            place.abandon()
            throw error
        }
    }
}

/// Copies the files of a store that changes after its index was copied.
///
/// A file that is missing when its turn comes was evicted, replaced, moved, removed or purged meanwhile. The entry and
/// its file are then taken from the index as it is now, again and again until the file is found. A row is removed
/// before its file is, so an entry that had a file at every moment has one in the copy.
private final class BackupRun {
    /// The number of entries whose file is missing.
    private(set) var missing = 0
    /// The index of the store that goes on changing.
    private let index: AvatarIndex
    /// The index of the copy.
    private let copy: IndexCopy
    private let files: FileCopiers

    init(index: AvatarIndex, copy: IndexCopy, files: FileCopiers) {
        (self.index, self.copy, self.files) = (index, copy, files)
    }

    /// Copies the files. On return each file row of the copy has its file.
    func takeFiles() throws {
        try copy.forEachFile { file, _ in
            guard try files.take(file) == .missing else { return }
            try copy.write { try $0.seekEntries(ofFile: file.id) }
        }
        while let key = try copy.write({ try $0.soughtKey() }) {
            try settle(key)
        }
        try keepBudget()
    }

    /// Updates the entry for `key` in the copy to its present state.
    private func settle(_ key: AvatarKey) throws {
        let found = try find(key)
        let former = try copy.write { try $0.owners(of: key) }
        // A contact that lost this image may have another one since, which the copy does not know.
        let images = try former.filter { found.entry?.isUsed(by: $0) != true }.flatMap(index.imageKeys(of:))
        let removed = try former.filter { try index.contact($0) == nil }
        try copy.write { transaction in
            try transaction.settle(key, as: found)
            for contact in removed { try transaction.removeContact(contact) }
            for image in images { try transaction.seek(image) }
        }
        if case .missing = found { missing += 1 }
    }

    /// The present state of the entry for `key`, with its file copied.
    ///
    /// - Throws: `busy` if its image is replaced faster than it can be copied.
    private func find(_ key: AvatarKey) throws -> IndexTransaction.Found {
        var entry = try index.wholeEntry(for: key)
        // Each round, another process replaced the image, which takes longer than looking.
        for _ in 0..<1000 {
            guard let current = entry else { return .nothing }
            guard let file = current.file else { return .entry(current) }
            let known = try copy.write { try $0.file(withDigest: current.sha256, in: file.storageClass) }
            if let known { return .file(current, known: known.id) }
            if try files.take(file) != .missing { return .file(current, known: nil) }
            entry = try index.wholeEntry(for: key)
            // The row still exists after its file was missing, so no process of the store unlinked the file.
            if entry?.file?.id == file.id { return .missing(current) }
        }
        throw AvatarStoreError(
            .busy,
            "\(key) was not copied: it was replaced 1,000 times meanwhile. Try again when the store is quieter.",
            failure: .storage
        )
    }

    /// Entries of different moments may exceed the budget together.
    ///
    /// The files that the index has now fit into its present budget. So other files are removed from the copy, the
    /// least recently used first, until it fits.
    private func keepBudget() throws {
        guard try copy.write({ try $0.total(of: .caches).bytes > $0.budget() }) else { return }
        var candidates: [EvictionCandidate] = []
        try copy.write { transaction in
            try transaction.forEachEvictionCandidate(accessedBefore: .max) {
                candidates.append($0)
                return true
            }
        }
        let (settings, current) = try index.settingsAndFiles(among: candidates.map(\.fileID))
        let evicted = try copy.write { transaction in
            for (name, value) in settings { try transaction.setSetting(name, to: value) }
            var evicted: [PendingFile] = []
            for candidate in candidates where !current.contains(candidate.fileID) {
                guard try transaction.total(of: .caches).bytes > transaction.budget() else { break }
                if let file = try transaction.evict(fromCopy: candidate.fileID) { evicted.append(file) }
            }
            return evicted
        }
        for file in evicted { try files.drop(file.path, of: file.storageClass) }
    }
}

/// Copies the files of both storage classes.
private struct FileCopiers {
    private let source: StoredRoots
    private let caches: FileCopier
    private let documents: FileCopier
    private let count: FileCount

    init(
        from source: StoredRoots,
        to roots: (caches: Directory, documents: Directory),
        _ target: CopyTarget,
        _ count: FileCount
    ) {
        func copier(_ source: StoredFiles, _ root: Directory) -> FileCopier {
            FileCopier(from: source, to: root, fileMode: target.fileMode, links: target.links)
        }
        self.source = source
        caches = copier(source.caches, roots.caches)
        documents = copier(source.documents, roots.documents)
        self.count = count
    }

    /// Links or copies one file.
    func take(_ file: FileRecord) throws -> FileCopier.Outcome {
        try Task.checkCancellation()
        guard isAllowed(file) else { return .missing }
        let outcome = try copier(of: file.storageClass).take(file)
        if outcome != .missing { count.add(file.sizeBytes) }
        return outcome
    }

    /// A file that the disk does not let be compared is left out, like one that has lost its bytes.
    private func isAllowed(_ file: FileRecord) -> Bool {
        do {
            return try source.allows(file)
        } catch {
            return false
        }
    }

    /// The SHA-256 of a file that was copied.
    func digest(of file: FileRecord) throws -> [UInt8]? {
        try copier(of: file.storageClass).digest(of: file.path)
    }

    /// Removes a copied file from the copy.
    func drop(_ path: String, of storageClass: StorageClass) throws {
        try copier(of: storageClass).drop(path)
    }

    private func copier(of storageClass: StorageClass) -> FileCopier {
        switch storageClass {
        case .caches: caches
        case .documents: documents
        }
    }
}

/// Counts copied files for the progress.
private final class FileCount {
    private var done = 0
    private var bytes = 0
    private let total: Int
    private let progress: ProgressHandler

    init(_ total: Int, _ progress: @escaping ProgressHandler) {
        self.total = total
        self.progress = progress
    }

    func add(_ size: Int) {
        done += 1
        bytes += size
        // Files added meanwhile may replace others, so the count may exceed the total.
        progress(WorkProgress(.copyingFiles, .files, done: done, of: max(done, total), bytes: bytes))
    }
}

extension IndexCopy {
    /// Passes each file and its digest to `body`, in pages by row id. A file added meanwhile is not among them.
    fileprivate func forEachFile(_ body: (FileRecord, [UInt8]) throws -> Void) throws {
        let last = try write { try $0.lastFileID() }
        var id: Int64 = 0
        while id < last {
            let page = try write { try $0.files(after: id, through: last, limit: 512) }
            for (file, sha256) in page { try body(file, sha256) }
            id = page.last?.file.id ?? last
        }
    }
}

extension BackupReport {
    /// Counts the entries and files of the copy.
    fileprivate init(of transaction: IndexTransaction) throws {
        let totals = try StorageClass.allCases.map { try transaction.total(of: $0) }
        entries = try transaction.entryCount()
        files = totals.reduce(0) { $0 + $1.files }
        bytes = totals.reduce(0) { $0 + $1.bytes }
    }
}
