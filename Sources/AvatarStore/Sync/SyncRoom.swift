import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

/// The byte budget of one sync: the bytes that count against it, and the files that must not be evicted for new images.
final class SyncRoom {
    /// Has the index with the totals, the writer that evicts, and the images that the sync wants. These are read once more, and only
    /// if files have to be evicted.
    private let scope: SyncScope

    /// The budget, and the files that an eviction must spare. The writer gets them with each batch.
    private(set) var rules: RoomRules
    /// Files of entries that the sync has passed, which it must not evict. A sync without a list cannot find them
    /// again.
    private var settledFiles: Set<Int64> = []
    /// The mean size of the images in `caches` in bytes, as of the last commit.
    private var typicalBytes = 1
    /// The bytes that count against the budget, as of the last commit.
    private var accountedBytes = 0
    /// Whether `hasRoom` has asked the writer.
    private var hasLooked = false
    /// Whether an image of typical size did not fit. If so, the sync requests no more images that are not stored yet.
    private(set) var isExhausted = false

    /// The room of a sync that has protected no file yet. Call `lookAtTotals` before the first request.
    ///
    /// - Parameter accessedBefore: the begin of the sync in microseconds. Files last used later are not evicted.
    init(_ scope: SyncScope, accessedBefore: Int64) {
        self.scope = scope
        rules = RoomRules(scope.engine.limits)
        rules.accessedBefore = accessedBefore
        rules.protection = .unknown
    }

    // MARK: Totals

    /// Reads the totals of the caches from the index: at the begin, after each commit, and after `retire`.
    ///
    /// - Throws: an error of the index.
    func lookAtTotals() throws {
        let total = try scope.index.total(of: .caches)
        typicalBytes = max(1, total.bytes / max(1, total.files))
        accountedBytes = total.accountedBytes
    }

    /// Removes files from the index that a user or the system deleted. They would count against the budget.
    ///
    /// - Throws: an error of the index or the disk.
    func retire(_ lost: [FileRecord]) async throws {
        guard !lost.isEmpty else { return }
        try await scope.writer.retireLost(lost)
        try lookAtTotals()
    }

    // MARK: Room for new images

    /// Whether it makes sense to request an image that is not stored yet: not in a store that is full of wanted images.
    /// The first call finds out, so that no batch is fetched in vain.
    ///
    /// - Throws: an error of the index, the disk or the source.
    func hasRoom() async throws -> Bool {
        if isExhausted { return false }
        guard !hasLooked else { return true }
        hasLooked = true
        do {
            isExhausted = try await !scope.writer.couldFit(typicalBytes, rules)
        } catch is ProtectionNeeded {
            try await protectWantedFiles()
            isExhausted = try await !scope.writer.couldFit(typicalBytes, rules)
        }
        return !isExhausted
    }

    /// Whether one more image of typical size fits into the budget.
    ///
    /// - Parameter outstanding: the requests under way and the results that are not committed.
    func fitsOneMore(besides outstanding: Int) -> Bool {
        outstanding == 0 || accountedBytes + (outstanding + 1) * typicalBytes <= rules.limits.budget
    }

    /// Records that an image of `bytes` did not fit. Images of up to twice the typical size show that the room is used
    /// up; a larger one does not.
    func noteRefusal(of bytes: Int) {
        if bytes <= 2 * typicalBytes { isExhausted = true }
    }

    // MARK: Protected files

    /// Records a file that this sync must not evict. Its access time does not protect it: a new file inherits the old
    /// one's.
    func protect(_ file: Int64) {
        settledFiles.insert(file)
        if case .files(var files) = rules.protection {
            // Released first: inserting into a set with two references would copy it.
            rules.protection = .everything
            files.insert(file)
            rules.protection = .files(files)
        }
    }

    /// Records all files that this sync must not evict: those of its source, and those that it has passed. Called after
    /// `ProtectionNeeded`.
    ///
    /// - Throws: an error of the index or the source.
    func protectWantedFiles() async throws {
        rules.protection = .files(try await scope.source.files(in: scope.index).union(settledFiles))
    }
}

extension SyncSource {
    /// The row ids of the files of all images that the source names, found by a walk of its own.
    ///
    /// - Throws: an error of the index or the source.
    fileprivate func files(in index: AvatarIndex) async throws -> Set<Int64> {
        var files: Set<Int64> = []
        let walk = makeWalk()
        while true {
            let items = try await walk(256)
            if items.isEmpty { return files }
            for case .entry(let entry) in items {
                if let file = entry.file { files.insert(file.id) }
            }
            var keys: [AvatarKey] = []
            for item in items { item.forEachKey { keys.append($0) } }
            files.formUnion(try index.entries(for: keys).compactMap { $0?.file?.id })
        }
    }
}
