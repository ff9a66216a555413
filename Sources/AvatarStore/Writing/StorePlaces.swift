import AvatarCore
import AvatarFiles

/// The directories of an open store and this process's hold on them.
struct StorePlaces: Sendable {
    let holder: Holder
    /// Which process fetches what.
    let leases: FetchLeases
    private let caches: FileStore
    private let documents: FileStore
    /// Beside the index and the documents, which nobody purges: the holders' locks are here.
    private let staging: Directory
    private let cachesStaging: Directory
    /// The files that a power loss may have damaged; `nil` until the index is open.
    var suspects: SuspectFiles?

    /// Opens the directories of `layout`, and makes those that are not there.
    init(_ layout: StoreLayout, fileMode: UInt32, fileSystem: any FileSystem) throws(AvatarStoreError) {
        let mode = FileStore.directoryMode(for: fileMode)
        let cachesRoot = try Directory.makeRoot(layout.cachesRoot, mode: mode)
        let documentsRoot = try Directory.makeRoot(layout.documentsRoot, mode: mode)
        staging = try Directory.makeRoot(layout.staging(of: .documents), mode: mode)
        cachesStaging = try Directory.makeRoot(layout.staging(of: .caches), mode: mode)
        holder = try Holder(in: staging)
        leases = FetchLeases(in: staging)
        caches = try FileStore(
            .caches,
            root: cachesRoot,
            staging: cachesStaging,
            holder: holder,
            fileMode: fileMode,
            fileSystem: fileSystem
        )
        documents = try FileStore(
            .documents,
            root: documentsRoot,
            staging: staging,
            holder: holder,
            fileMode: fileMode,
            fileSystem: fileSystem
        )
    }

    /// The files of `storageClass`.
    func files(of storageClass: StorageClass) -> FileStore {
        switch storageClass {
        case .caches: caches
        case .documents: documents
        }
    }

    /// The published files, for reading.
    var stored: StoredRoots {
        StoredRoots(
            caches: StoredFiles(root: caches.root),
            documents: StoredFiles(root: documents.root),
            suspects: suspects
        )
    }

    /// All holders with a lock file, dead or alive.
    func holderNames() throws -> [String] {
        do throws(SystemCallError) {
            return try Holder.names(in: staging)
        } catch {
            throw error.storeError
        }
    }

    /// Takes over the holder `name`; `nil` if it is alive.
    func takeOver(_ name: String) throws(AvatarStoreError) -> Holder? {
        try Holder.takeOver(name, in: staging)
    }

    /// Whether the holder `name` still holds its lock.
    func isAlive(_ name: String) throws(AvatarStoreError) -> Bool {
        try Holder.isAlive(name, in: staging)
    }

    /// Makes the roots again that somebody removed: in a directory that is gone, every file would look as if it was too.
    func restoreRoots() throws(AvatarStoreError) {
        try caches.restoreRoot()
        try documents.restoreRoot()
    }

    /// Begins no file any more, and removes this process's staging folders.
    func endStaging() throws {
        caches.end()
        documents.end()
        try removeStaging(of: holder)
    }

    /// Removes the staging folders of `holder`.
    func removeStaging(of holder: Holder) throws {
        do throws(SystemCallError) {
            try staging.removeFolder(holder.name)
            try cachesStaging.removeFolder(holder.name)
        } catch {
            throw error.storeError
        }
    }

    /// Makes everything on the file systems of both roots, and of the index beside the documents, durable.
    func synchronizeFileSystems() throws(AvatarStoreError) {
        try caches.synchronizeFileSystem()
        try documents.synchronizeFileSystem()
    }

    /// Before a root becomes a store's: it may hold what looks like a store's files, and nothing else.
    static func refuseForeignFiles(_ layout: StoreLayout) throws(AvatarStoreError) {
        for storageClass in StorageClass.allCases {
            let path = layout.root(of: storageClass)
            guard !RootMark.exists(ofRoot: path, in: layout.staging(of: storageClass)), Directory.exists(path)
            else { continue }
            let files = StoredFiles(root: try Directory.openRoot(path))
            guard let foreign = try files.firstForeignPath() else { continue }
            throw AvatarStoreError(
                .unusableRoot,
                "\(path) holds \(foreign), which is no file of a store; a store needs a directory of its own."
            )
        }
    }

    /// Ties the roots to the store `id`, which is kept beside each root: a root of another store is refused.
    ///
    /// - Returns: whether a root belonged to no store, and holds files all the same.
    func claim(_ id: String) throws -> Bool {
        let newRoots = try [(caches.root, cachesStaging), (documents.root, staging)].filter { root, staging in
            try RootMark(of: root, in: staging).claim(id)
        }
        do throws(SystemCallError) {
            for (root, _) in newRoots { if try !root.names().isEmpty { return true } }
            return false
        } catch {
            throw error.storeError
        }
    }
}

/// The published files of both classes, for reading.
struct StoredRoots: Sendable {
    let caches: StoredFiles
    let documents: StoredFiles
    private let suspects: SuspectFiles?

    /// Opens the roots of `layout` for reading.
    init(_ layout: StoreLayout, allowsNetwork: Bool = false, suspects: SuspectFiles? = nil) throws(AvatarStoreError) {
        self.init(
            caches: StoredFiles(root: try Directory.openRoot(layout.cachesRoot, allowsNetwork: allowsNetwork)),
            documents: StoredFiles(root: try Directory.openRoot(layout.documentsRoot, allowsNetwork: allowsNetwork)),
            suspects: suspects
        )
    }

    init(caches: StoredFiles, documents: StoredFiles, suspects: SuspectFiles?) {
        self.caches = caches
        self.documents = documents
        self.suspects = suspects
    }

    /// All that is in the root of `storageClass`, whatever the index says of it.
    func files(of storageClass: StorageClass) -> StoredFiles {
        switch storageClass {
        case .caches: caches
        case .documents: documents
        }
    }

    /// Whether `file` is there with its indexed length, and no power loss has taken its bytes.
    func contains(_ file: FileRecord) -> Bool {
        files(of: file.storageClass).contains(file) && allows(file)
    }

    /// The bytes of `file`; `nil` if it is not there, as `contains(_:)` says.
    func read(_ file: FileRecord) throws(AvatarStoreError) -> [UInt8]? {
        allows(file) ? try files(of: file.storageClass).read(file) : nil
    }

    /// Lends an open descriptor of `file`; `nil` if it is not there, as `contains(_:)` says.
    func withDescriptor<Result>(of file: FileRecord, _ body: (Int32) throws -> Result) throws -> Result? {
        allows(file) ? try files(of: file.storageClass).withDescriptor(of: file, body) : nil
    }

    /// The absolute path of `file`.
    func path(of file: FileRecord) -> String {
        files(of: file.storageClass).path(of: file)
    }

    /// Whether no power loss has taken the bytes of `file`, as far as that can be known.
    func allows(_ file: FileRecord) -> Bool {
        suspects?.allows(file, in: files(of: file.storageClass)) ?? true
    }
}
