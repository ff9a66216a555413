package import AvatarCore
package import AvatarFileSystem
package import AvatarFiles
import AvatarFoundation
package import AvatarIndex
import Synchronization

/// The directories of an open store, and this process's locks in them.
package struct StorePlaces: Sendable {
    /// The lock file that shows other processes that this one is alive.
    package let holder: Holder
    /// The locks by which processes agree who fetches an image.
    package let leases: FetchLeases
    private let caches: FileStore
    private let documents: FileStore
    /// The staging folder beside the index and the documents. The holders' lock files are here, because the system
    /// never purges this place.
    private let staging: Directory
    private let cachesStaging: Directory
    /// The failed synchronizations of all files.
    let failedSynchronizations = FailedSynchronizations()
    /// The files that a power loss may have damaged; `nil` until the index is open.
    package var suspects: SuspectFiles?

    /// Opens the directories of `layout`, and creates those that are missing.
    ///
    /// - Throws: `unusableRoot` for a directory that is a link or a file, or lies on a network; an error of the disk.
    package init(_ layout: StoreLayout, fileMode: UInt32, fileSystem: any FileSystem) throws(AvatarStoreError) {
        let mode = FileStore.directoryMode(for: fileMode)
        let cachesRoot = try Directory.makeRoot(layout.cachesRoot, on: fileSystem, mode: mode)
        let documentsRoot = try Directory.makeRoot(layout.documentsRoot, on: fileSystem, mode: mode)
        staging = try Directory.makeRoot(layout.staging(of: .documents), on: fileSystem, mode: mode)
        cachesStaging = try Directory.makeRoot(layout.staging(of: .caches), on: fileSystem, mode: mode)
        holder = try Holder(in: staging)
        leases = FetchLeases(in: staging)
        caches = try FileStore(
            .caches,
            root: cachesRoot,
            staging: cachesStaging,
            holder: holder,
            fileMode: fileMode
        )
        documents = try FileStore(
            .documents,
            root: documentsRoot,
            staging: staging,
            holder: holder,
            fileMode: fileMode
        )
    }

    /// The file store of `storageClass`.
    package func files(of storageClass: StorageClass) -> FileStore {
        switch storageClass {
        case .caches: caches
        case .documents: documents
        }
    }

    /// The published files, for reading.
    package var stored: StoredRoots {
        StoredRoots(
            caches: StoredFiles(root: caches.root),
            documents: StoredFiles(root: documents.root),
            suspects: suspects
        )
    }

    /// The names of all holders with a lock file or a staging folder, alive or dead.
    package func holderNames() throws -> Set<String> {
        try withStoreErrors { () throws(SystemCallError) -> Set<String> in
            let names = try Holder.traces(in: staging)
            return cachesStaging.path == staging.path ? names : names.union(try Holder.traces(in: cachesStaging))
        }
    }

    /// Whether another process has a lock file or a staging folder, alive or dead.
    package func hasOtherHolders() throws -> Bool {
        try holderNames().contains { $0 != holder.name }
    }

    /// Locks the holder `name` of a dead process; `nil` if it is alive.
    package func takeOver(_ name: String) throws(AvatarStoreError) -> Holder? {
        try Holder.takeOver(name, in: staging)
    }

    /// Whether the process of the holder `name` still holds its lock.
    package func isAlive(_ name: String) throws(AvatarStoreError) -> Bool {
        try Holder.isAlive(name, in: staging)
    }

    /// Creates roots again that were removed: in a missing directory, every file would look missing too.
    func restoreRoots() throws(AvatarStoreError) {
        try caches.restoreRoot()
        try documents.restoreRoot()
    }

    /// Stops staging files, and removes this process's staging folders.
    func endStaging() throws {
        caches.staging.end()
        documents.staging.end()
        try removeStaging(of: holder)
    }

    /// Removes the staging folders of `holder`, in both roots.
    package func removeStaging(of holder: Holder) throws {
        try withStoreErrors { () throws(SystemCallError) in
            try staging.removeFolder(holder.name)
            try cachesStaging.removeFolder(holder.name)
        }
    }

    /// Makes the file systems of both roots durable, after `files` were written again; the index lies beside the documents.
    ///
    /// - Returns: those of `files` that have lost their bytes.
    /// - Throws: the first error of the disk, after all of it was tried.
    func synchronizeFileSystems(rewriting files: [FileDigest]) throws(AvatarStoreError) -> [FileDigest] {
        var lost: [FileDigest] = []
        var failure: AvatarStoreError?
        for file in files {
            do throws(AvatarStoreError) {
                let isWhole = try self.files(of: file.storageClass).rewrite(file.path, sha256: file.sha256)
                if !isWhole { lost.append(file) }
            } catch {
                failure = failure ?? error
            }
        }
        // A purge replaces the root of the caches, and the system reports a failure to descriptors that were open before it.
        try failedSynchronizations.counting { () throws(AvatarStoreError) in
            try withStoreErrors { () throws(SystemCallError) in
                try Directory.synchronizeFileSystems(of: [documents.root, caches.root])
            }
        }
        if let failure { throw failure }
        return lost
    }

    /// Checks, before a root is taken over, that it holds only what looks like a store's files.
    ///
    /// - Throws: `unusableRoot` if it holds a foreign file.
    package static func refuseForeignFiles(
        _ layout: StoreLayout,
        on fileSystem: any FileSystem
    ) throws(AvatarStoreError) {
        for storageClass in StorageClass.allCases {
            let path = layout.root(of: storageClass)
            guard !RootMark.exists(ofRoot: path, in: layout.staging(of: storageClass), on: fileSystem),
                fileSystem.exists(path)
            else { continue }
            let files = StoredFiles(root: try Directory.openRoot(path, on: fileSystem))
            guard let foreign = try files.firstForeignPath() else { continue }
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(path)\" cannot be used: it holds \"\(foreign)\", which is not a store's file. A store needs a "
                    + "directory of its own."
            )
        }
    }

    /// Whether each root has the id of a store beside it.
    package var isClaimed: Bool {
        [(caches.root, cachesStaging), (documents.root, staging)].allSatisfy { root, staging in
            RootMark.exists(ofRoot: root.path, in: staging.path, on: root.fileSystem)
        }
    }

    /// Makes the names of the roots durable. Called before they are claimed; a root that is made again later has its name
    /// made durable by the process that makes it.
    package func synchronizeNames() throws(AvatarStoreError) {
        try withStoreErrors { () throws(SystemCallError) in
            for root in [caches.root, documents.root] { try root.synchronizeNames() }
        }
    }

    /// Writes the store's `id` beside each root, except beside one that has no id and holds files: the index does not list
    /// them. It gets its id afterwards, so that an opening that is stopped meanwhile leaves the listing to the next one.
    ///
    /// - Parameter areListed: whether the index lists them by now. Default: `false`.
    /// - Returns: whether a root was left out.
    /// - Throws: `unusableRoot` for a root of another store; an error of the disk.
    package func claim(_ id: String, areListed: Bool = false) throws -> Bool {
        var leavesOut = false
        for (root, staging) in [(caches.root, cachesStaging), (documents.root, staging)] {
            let hasMark = RootMark.exists(ofRoot: root.path, in: staging.path, on: root.fileSystem)
            if !areListed, !hasMark, try !withStoreErrors(root.names).isEmpty {
                leavesOut = true
            } else {
                try RootMark(of: root, in: staging).claim(id)
            }
        }
        return leavesOut
    }
}

/// The published files of both storage classes, for reading.
package struct StoredRoots: Sendable {
    package let caches: StoredFiles
    package let documents: StoredFiles
    private let suspects: SuspectFiles?

    /// Opens the roots of `layout` for reading. Missing caches count as empty, because the system may purge them.
    ///
    /// - Parameter allowsNetwork: whether a root may lie on a network file system.
    package init(
        _ layout: StoreLayout,
        on fileSystem: any FileSystem,
        allowsNetwork: Bool = false,
        suspects: SuspectFiles? = nil
    ) throws(AvatarStoreError) {
        let caches = try Directory.openRootOrEmpty(layout.cachesRoot, on: fileSystem, allowsNetwork: allowsNetwork)
        let documents = try Directory.openRoot(layout.documentsRoot, on: fileSystem, allowsNetwork: allowsNetwork)
        self.init(caches: StoredFiles(root: caches), documents: StoredFiles(root: documents), suspects: suspects)
    }

    package init(caches: StoredFiles, documents: StoredFiles, suspects: SuspectFiles?) {
        (self.caches, self.documents, self.suspects) = (caches, documents, suspects)
    }

    /// All files in the root of `storageClass`, listed in the index or not.
    package func files(of storageClass: StorageClass) -> StoredFiles {
        switch storageClass {
        case .caches: caches
        case .documents: documents
        }
    }

    /// Whether `file` exists with its indexed length, and is not known to have lost its bytes in a power loss.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer.
    package func contains(_ file: FileRecord) throws(AvatarStoreError) -> Bool {
        guard try files(of: file.storageClass).contains(file) else { return false }
        return try allows(file)
    }

    /// The bytes of `file`; `nil` if `contains(_:)` would be `false`.
    package func read(_ file: FileRecord) throws(AvatarStoreError) -> [UInt8]? {
        try allows(file) ? files(of: file.storageClass).read(file) : nil
    }

    /// Passes an open descriptor of `file` to `body`; `nil` if `contains(_:)` would be `false`.
    package func withDescriptor<Result>(of file: FileRecord, _ body: (Int32) throws -> Result) throws -> Result? {
        try allows(file) ? files(of: file.storageClass).withDescriptor(of: file, body) : nil
    }

    /// Opens `file`; `nil` if `contains(_:)` would be `false`.
    package func open(_ file: FileRecord) throws -> OpenFile? {
        try allows(file) ? files(of: file.storageClass).openFile(file) : nil
    }

    /// The absolute path of `file`.
    package func path(of file: FileRecord) -> String {
        files(of: file.storageClass).path(of: file)
    }

    /// Whether `file` is not known to have lost its bytes in a power loss.
    ///
    /// - Throws: `storage` or `readOnly` if the disk or its permissions prevent an answer.
    package func allows(_ file: FileRecord) throws(AvatarStoreError) -> Bool {
        try suspects?.allows(file, in: files(of: file.storageClass)) ?? true
    }
}

extension StorePlaces {
    /// Retires the file if no entry uses it any more. It has to be unlinked after the commit.
    ///
    /// If other entries still use a document, its label is rewritten: it must not name a removed image.
    package func release(_ file: Int64, in transaction: IndexTransaction) throws -> PendingFile? {
        if let unused = try transaction.retireFileIfUnused(id: file, holder: holder.name) { return unused }
        try relabel(file, in: transaction)
        return nil
    }

    /// Writes the label of a document again, whose entries have changed. Does nothing for a file in `caches`.
    func relabel(_ file: Int64, in transaction: IndexTransaction) throws {
        guard let path = try transaction.documentPath(ofFile: file) else { return }
        try files(of: .documents).label(published: path, FileLabel(try transaction.users(ofFile: file)))
    }
}

extension FileLabel {
    /// The label of a file that these entries use.
    init(_ users: [(key: AvatarKey, sourceURL: String?)]) {
        self.init(keys: users.map(\.key.rawValue), originURL: users.lazy.compactMap(\.sourceURL).first)
    }
}

/// Counts the synchronizations of all files that have failed.
///
/// The system tells a descriptor of a failure once: the next synchronization succeeds. So they run one after another, and one that
/// fails is counted before the next begins.
final class FailedSynchronizations: Sendable {
    private let running = Locked(())
    private let failures = Atomic(0)

    var count: Int { failures.load(ordering: .acquiring) }

    /// Runs `synchronize`, and counts it if it fails.
    func counting(_ synchronize: () throws(AvatarStoreError) -> Void) throws(AvatarStoreError) {
        try running.withLock { _ throws(AvatarStoreError) in
            do throws(AvatarStoreError) {
                try synchronize()
            } catch {
                failures.add(1, ordering: .releasing)
                throw error
            }
        }
    }
}
