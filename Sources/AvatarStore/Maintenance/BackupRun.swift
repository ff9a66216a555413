import AvatarCore
import AvatarFiles
import AvatarIndex

/// Takes over the files of a store that goes on changing after its index was copied.
///
/// A file that is gone by the time its turn comes was evicted, replaced, moved, removed or purged since. Its row and its
/// file are then taken from the index as it is now, and if that file is gone too, from the index as it is after that. A
/// row is gone before its file is, so an entry that had a file at every moment has one in the copy.
final class BackupRun {
    /// Entries whose file is not where the index says.
    private(set) var missing = 0
    /// The index that goes on changing.
    private let index: AvatarIndex
    private let copy: IndexCopy
    private let files: FileCopiers

    init(index: AvatarIndex, copy: IndexCopy, files: FileCopiers) {
        self.index = index
        self.copy = copy
        self.files = files
    }

    /// On return each file row of the copy has its file.
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

    /// Brings the entry for `key` to what the index has of it now.
    private func settle(_ key: AvatarKey) throws {
        let found = try find(key)
        let former = try copy.write { try $0.owners(of: key) }
        // A contact that lost this image has another one since, which the copy may not know.
        let images = try former.filter { found.entry?.isUsed(by: $0) != true }.flatMap(index.keys(of:))
        try copy.write { transaction in
            try transaction.settle(key, as: found)
            for image in images { try transaction.seek(image) }
        }
        if case .missing = found { missing += 1 }
    }

    private func find(_ key: AvatarKey) throws -> IndexTransaction.Found {
        var entry = try index.wholeEntry(for: key)
        // Each time round somebody replaced the image, which takes longer than looking.
        for _ in 0..<1000 {
            guard let current = entry else { return .nothing }
            guard let file = current.file else { return .entry(current) }
            let known = try copy.write { try $0.file(withDigest: current.sha256, in: file.storageClass) }
            if let known { return .file(current, known: known.id) }
            if try files.take(file) != .missing { return .file(current, known: nil) }
            entry = try index.wholeEntry(for: key)
            // Its row is there after its file was not: nobody of us unlinked it.
            if entry?.file?.id == file.id { return .missing(current) }
        }
        throw AvatarStoreError(.busy, "\(key) changes faster than it can be copied; try again.", failure: .storage)
    }

    /// Entries of different moments may add up to more than the budget.
    ///
    /// Those that the index has now do not exceed the budget that it has now, so the others go, the least recently used
    /// first, as far as they have to.
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
