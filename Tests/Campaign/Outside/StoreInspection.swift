import AvatarStore
import Foundation
import ProgramRunning
import Workload

/// A store as it is on disk: the index, the files, and their contradictions.
struct StoreInspection {
    let index: IndexSnapshot
    private(set) var findings: [Finding] = []
    private let directory: String

    /// Inspects the store in `directory`, which no process changes now.
    ///
    /// - Parameter isSettled: whether nothing may be pending. A store whose process was just killed has pending files;
    /// after the next opening it has none.
    ///   after the next opening there are none.
    init(_ directory: String, _ book: ImageBook, isSettled: Bool) throws {
        self.directory = directory
        index = try IndexSnapshot(directory + "/index.sqlite")
        for storageClass in StorageClass.allCases { checkFiles(of: storageClass, book) }
        checkTotals()
        if isSettled {
            for path in index.pending.keys { add(.orphan, "\(path) is pending") }
        }
    }

    private mutating func add(_ kind: Finding.Kind, _ text: String) {
        findings.append(Finding(kind, text))
    }

    private mutating func checkFiles(of storageClass: StorageClass, _ book: ImageBook) {
        let root = directory + "/" + storageClass.rawValue
        let found = FolderWalk(root)?.files ?? [:]
        var rows: Set<String> = []
        for file in index.files where file.storageClass == storageClass {
            rows.insert(file.path)
            let name = storageClass.rawValue + "/" + file.path
            guard let byteCount = found[file.path] else {
                add(.lost, "\(name) has a row and no file")
                continue
            }
            if byteCount != file.byteCount { add(.wrong, "\(name) has \(byteCount) bytes, not \(file.byteCount)") }
            if book.digest(ofFile: root + "/" + file.path) != file.digest { add(.wrong, "\(name) has other bytes") }
        }
        for path in found.keys where !rows.contains(path) {
            let name = storageClass.rawValue + "/" + path
            if index.pending[name] == nil { add(.orphan, "\(name) has no row") }
        }
        let bytes = found.values.reduce(0, +)
        if storageClass == .caches, let budget = index.budget, bytes > budget {
            add(.breach, "\(bytes) bytes in caches, the budget is \(budget)")
        }
    }

    private mutating func checkTotals() {
        for storageClass in StorageClass.allCases {
            let files = index.files.filter { $0.storageClass == storageClass }
            let counted = IndexSnapshot.Total(files: files.count, bytes: files.reduce(0) { $0 + $1.byteCount })
            let kept = index.totals[storageClass]
            if kept != counted {
                add(.wrong, "the totals of \(storageClass) are \(String(describing: kept)), not \(counted)")
            }
        }
        let used = Set(index.entries.compactMap(\.file))
        for file in index.files where !used.contains(file.id) {
            add(.orphan, "\(file.storageClass)/\(file.path) has a row that no entry uses")
        }
    }

    /// Reports items beside index and roots that no live process owns: staging folders and locks of holders other than
    /// the `live` ones, and files of unknown names.
    mutating func checkLeftovers(liveHolders live: Int) {
        let known: Set<String> = [
            "caches", "documents", "staging", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm",
        ]
        for name in FolderWalk.names(in: directory) ?? [] where !known.contains(name) {
            add(.orphan, "\(name) beside the index")
        }
        let staging = FolderWalk.names(in: directory + "/staging") ?? []
        let locks = staging.filter { $0.hasSuffix(".lock") }
        if locks.count != live { add(.orphan, "\(locks.count) holders in staging, and \(live) alive") }
        for name in staging where !locks.contains(name) && !name.hasSuffix(".store-id") && !name.hasPrefix("leases-") {
            guard locks.contains(name + ".lock") else {
                add(.orphan, "staging/\(name) of a dead holder")
                continue
            }
            for file in FolderWalk.names(in: directory + "/staging/" + name) ?? [] {
                add(.orphan, "staging/\(name)/\(file)")
            }
        }
    }
}
