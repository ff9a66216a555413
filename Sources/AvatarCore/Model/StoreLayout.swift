/// The paths of a store. The staging folder lies beside each root, so that both are on the same file system.
public struct StoreLayout: Hashable, Sendable {
    /// The absolute path of the root for the storage class `caches`.
    package var cachesRoot: String
    /// The absolute path of the root for the storage class `documents`.
    package var documentsRoot: String
    /// The absolute path of the index. SQLite keeps `-wal` and `-shm` files beside it.
    package var indexPath: String

    /// A store in one directory: `caches`, `documents`, `staging` and `index.sqlite`.
    public init(directory: String) {
        self.init(cachesIn: directory, documentsIn: directory)
    }

    /// A store in two directories: `caches` in one that the system may purge, `documents` and the index in the other.
    public init(cachesIn caches: String, documentsIn documents: String) {
        cachesRoot = caches + "/caches"
        documentsRoot = documents + "/documents"
        indexPath = documents + "/index.sqlite"
    }

    /// The root folder of `storageClass`.
    package func root(of storageClass: StorageClass) -> String {
        switch storageClass {
        case .caches: cachesRoot
        case .documents: documentsRoot
        }
    }

    /// The folder in which the store writes files of `storageClass` before it publishes them.
    package func staging(of storageClass: StorageClass) -> String {
        Self.parent(of: root(of: storageClass)) + "/staging"
    }

    /// The folder of the index.
    package var indexDirectory: String { Self.parent(of: indexPath) }

    /// The folder that contains `path`: `.` if `path` has no slash.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// The storage class of an image: where its file is kept, and for how long.
public enum StorageClass: String, Hashable, Sendable, CaseIterable, Codable {
    /// For images that can be fetched again. They count against the byte budget, the store evicts the least recently
    /// used first, and the system may purge them.
    case caches
    /// For images that are kept until the caller removes them. They are outside the budget, never evicted, and durable
    /// on disk when the call that saves them returns.
    case documents
}
