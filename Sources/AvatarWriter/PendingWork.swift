import AvatarCore
import AvatarFiles
package import AvatarIndex
import Logging

/// The files that may exist without being published: unlinks them, and drops their pending rows.
///
/// They are those that a committed transaction made pending (steps 2 and 3 of a deletion, see `StoreWriter`), those that
/// could not be unlinked then, and those of dead processes.
package final class PendingWork {
    private let index: AvatarIndex
    private let places: StorePlaces
    private let boot: BootRecord
    /// Files that were unlinked, and whose pending rows the next transaction drops.
    private var unlinked: [PendingFile] = []
    /// Batches whose files were unlinked, but for those that could not be. The next transaction drops their rows.
    private var unlinkedBatches: [(batch: PendingBatch, rest: [PendingFile])] = []
    /// Whether a file that this process made pending is still to be unlinked.
    package private(set) var hasLeftovers = false
    /// Whether the holder keeps room on the disk for the transaction that ends its work.
    private var keepsRoom = false

    init(_ index: AvatarIndex, _ places: StorePlaces, _ boot: BootRecord) {
        (self.index, self.places, self.boot) = (index, places, boot)
    }

    /// Runs a write transaction, as `StoreWriter.write`.
    func write<Result>(
        _ durability: AvatarIndex.Durability = .process,
        restoringRoots: Bool = true,
        _ body: (IndexTransaction) throws -> Result
    ) throws -> Result {
        if restoringRoots { try places.restoreRoots() }
        if !keepsRoom {
            keepsRoom = true
            places.holder.keepRoom()
        }
        let (gone, goneBatches) = (unlinked, unlinkedBatches)
        // Others may rely on the record of a failure from now on.
        let durability = boot.unrecordedCount > 0 ? .power : durability
        let (result, renditions) = try index.write(durability) { transaction in
            try boot.recordFailures(in: transaction)
            for file in gone { try transaction.dropPending(file) }
            for (batch, rest) in goneBatches { try transaction.dropPending(batch, leaving: rest) }
            return (try body(transaction), transaction.retiredRenditions)
        }
        unlinked.removeFirst(gone.count)
        unlinkedBatches.removeFirst(goneBatches.count)
        unlinkRenditions(renditions)
        boot.endRecording()
        return result
    }

    /// Deletes renditions whose originals the transaction removed from the index.
    private func unlinkRenditions(_ files: [PendingFile]) {
        guard !files.isEmpty else { return }
        do {
            try unlink(files)
        } catch {
            // The transaction is committed. A file that could not be deleted stays pending and counts against the budget.
            // `settle` tries again.
        }
    }

    // MARK: Deletions of this process

    /// Unlinks files that a committed transaction made pending, in rows of their own or in batches.
    ///
    /// All are tried. A file that cannot be unlinked stays pending and counts against the budget, in a row of its own;
    /// the last error is thrown. A document's folder is synchronized before its pending row is dropped, so a power loss
    /// does not bring the file back.
    package func unlink(_ files: [PendingFile], _ batches: [PendingBatch] = []) throws {
        let (left, failure) = try unlinkEach(files + batches.flatMap(\.files))
        unlinked += left.isEmpty ? files : files.filter { !left.contains($0) }
        unlinkedBatches += batches.map { batch in (batch, left.isEmpty ? [] : batch.files.filter(left.contains)) }
        if let failure { throw failure }
    }

    /// Tries to unlink all files.
    ///
    /// - Returns: the files that could not be unlinked, and the last error.
    /// - Throws: an error after which none may be taken for gone.
    private func unlinkEach(_ files: [PendingFile]) throws -> (left: Set<PendingFile>, failure: AvatarStoreError?) {
        guard !files.isEmpty else { return ([], nil) }
        // Until they are gone, even if this throws.
        let hadLeftovers = hasLeftovers
        hasLeftovers = true
        try places.restoreRoots()
        try boot.markChanged()
        var failure: AvatarStoreError?
        var left: Set<PendingFile> = []
        for storageClass in StorageClass.allCases {
            // A path that no store makes comes from elsewhere and may lead anywhere: only its row is dropped.
            let paths = files.filter { $0.storageClass == storageClass && FilePath.isPublishedName($0.path) }.map(
                \.path
            )
            var failed: Set<String> = []
            places.files(of: storageClass).unlink(paths.sorted()) { path, error in
                failure = error
                failed.insert(path)
            }
            if !failed.isEmpty {
                left.formUnion(files.filter { $0.storageClass == storageClass && failed.contains($0.path) })
            }
            if storageClass == .documents {
                try places.files(of: .documents).synchronizeFolders(of: paths.filter { !failed.contains($0) })
            }
        }
        if failure == nil { hasLeftovers = hadLeftovers }
        return (left, failure)
    }

    /// Drops the pending rows of unlinked files, and retries files that could not be unlinked before.
    func settle() throws {
        if hasLeftovers {
            do {
                return try finishOwnLeftovers()
            } catch {
                // It was reported when it happened. The file stays pending, counts against the budget, and is tried again.
            }
        }
        if !unlinked.isEmpty || !unlinkedBatches.isEmpty { try write { _ in } }
    }

    /// Retries files that this process left pending.
    package func finishOwnLeftovers() throws {
        let name = places.holder.name
        let (files, batches) = try write { (try $0.pendingFiles(of: name), try $0.pendingBatches(of: name)) }
        hasLeftovers = false
        try unlink(files, batches)
        try settle()
    }

    // MARK: Dead processes

    /// Finishes the work of dead processes when the store is opened. Work that fails now stays pending, counts against
    /// the budget, and is tried again by the next process that needs room.
    func recover(reportingTo logger: Logger) {
        do {
            let foreign = try finishDeadHolders()
            guard foreign > 0 else { return }
            logger.warning(
                "ignored pending rows of files that are published or not the store's",
                metadata: ["files": "\(foreign)"]
            )
        } catch {
            logger.warning("cannot finish the work of a dead process", metadata: ["error": "\(error)"])
        }
    }

    /// Unlinks the files that dead processes left pending, and removes their staging folders.
    ///
    /// - Returns: the number of pending rows that no process of a store can have written. Their files are not touched.
    @discardableResult
    package func finishDeadHolders() throws -> Int {
        let pending = Set(try index.pendingHolders())
        var foreign = 0
        for name in pending.union(try places.holderNames()) where name != places.holder.name {
            // A name that no holder can have came with an index from elsewhere. No staging folder belongs to it.
            guard Holder.isName(name) else {
                foreign += try finishPending(of: name)
                continue
            }
            guard let dead = try places.takeOver(name) else { continue }
            index.log.doubt()
            boot.note(dead.inherited)
            foreign += try finishPending(of: name)
            try places.removeStaging(of: dead)
            dead.release()
        }
        return foreign
    }

    /// Unlinks the pending files of the dead holder `name`.
    ///
    /// No process has a pending file that is published, or one with a name that `FilePath` does not make. An index with
    /// such rows was written by others, and must not make the store delete arbitrary files.
    /// - Returns: the number of such rows; they are dropped.
    private func finishPending(of name: String) throws -> Int {
        let (files, batches, foreign) = try index.write { transaction in
            func isOwn(_ file: PendingFile) throws -> Bool {
                guard FilePath.isPublishedName(file.path) else { return false }
                let prefix = FilePath.digestPrefix(of: file.path)
                return try !transaction.isPublished(file.path, in: file.storageClass, digestPrefix: prefix)
            }
            let files = try transaction.pendingFiles(of: name)
            let own = try files.filter(isOwn)
            let batches = try transaction.pendingBatches(of: name).map { try $0.filter(isOwn) }
            return (own, batches, files.count - own.count + batches.reduce(0) { $0 + $1.foreignCount })
        }
        try unlink(files, batches)
        try settle()
        if foreign > 0 { try write { try $0.dropPending(of: name) } }
        return foreign
    }
}
