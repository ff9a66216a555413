/// Where a store keeps its parts. Each root has its staging folder beside it, on the same file system.
public struct StoreLayout: Hashable, Sendable {
    /// The root of the class `caches`, absolute.
    public var cachesRoot: String
    /// The root of the class `documents`, absolute.
    public var documentsRoot: String
    /// The index's file, absolute. SQLite adds `-wal` and `-shm` beside it.
    public var indexPath: String

    /// Everything under one directory: `caches`, `documents`, `staging`, `index.sqlite`.
    public init(directory: String) {
        self.init(cachesIn: directory, documentsIn: directory)
    }

    /// Caches under one directory, documents and the index under another, as platforms with a purgeable place want it.
    public init(cachesIn caches: String, documentsIn documents: String) {
        cachesRoot = caches + "/caches"
        documentsRoot = documents + "/documents"
        indexPath = documents + "/index.sqlite"
    }

    /// The root of `storageClass`.
    public func root(of storageClass: StorageClass) -> String {
        switch storageClass {
        case .caches: cachesRoot
        case .documents: documentsRoot
        }
    }

    /// The folder in which files of `storageClass` are made before they are published.
    package func staging(of storageClass: StorageClass) -> String {
        Self.parent(of: root(of: storageClass)) + "/staging"
    }

    /// The folder that holds the index.
    package var indexDirectory: String { Self.parent(of: indexPath) }

    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// Where an image's file is kept, and for how long.
public enum StorageClass: String, Hashable, Sendable, CaseIterable, Codable {
    /// Can be fetched again: lives under the byte budget, least recently used first out, and the system may purge it.
    case caches
    /// Kept until the caller removes it: outside the budget, never evicted, on stable storage before a call returns.
    case documents
}
