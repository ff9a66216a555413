import AvatarCore
import AvatarFiles
import AvatarIndex
import Dispatch
import Logging

/// Finishes the work of dead processes.
extension StoreWriter {
    /// Unlinks the files that dead processes left pending, and removes their staging folders.
    ///
    /// - Returns: the number of pending rows that no process of a store can have written. Their files are not touched.
    @discardableResult
    func finishDeadHolders() throws -> Int {
        let pending = Set(try index.pendingHolders())
        var foreign = 0
        for name in pending.union(try places.holderNames()) where name != places.holder.name {
            // A name that no holder can have came with an index from elsewhere. No staging folder belongs to it.
            guard Holder.isName(name) else {
                foreign += try finishPending(of: name)
                continue
            }
            guard let dead = try places.takeOver(name) else { continue }
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
}

/// Records how far the files are on stable storage, for the first opening after a power loss.
///
/// New files in `caches` are not synchronized one by one: that would make a sync slow. Instead the index keeps
///
/// - the boot id, from the first change until the last process closes the store, which makes everything durable;
/// - the durable point: the row id of the last file that was on stable storage then.
///
/// An opening that finds the id of another boot compares the lengths of all files, and the digests of the files in `caches`
/// beyond the durable point. An opening that finds the id of this boot compares nothing: a killed process loses nothing that
/// it had written. Documents and the successors of replaced images are durable before the index lists them.
extension StoreWriter {
    /// The most files beyond the durable point, about. At 8 KiB each, an opening after a power loss reads them in a
    /// second or two.
    private static let longestDistance = 16_384

    /// Records the boot id before the first file is published or unlinked. Durable on return.
    func markChanged() throws {
        guard bootMark == .none else { return }
        try index.write(.power) { try $0.beginBoot(BootID.current) }
        bootMark = .thisBoot
    }

    /// Reads the boot id before anything else happens, so that a dead process's work is finished with the right mark.
    ///
    /// A closing process may be about to remove the id, because it looked for other holders before this one had its
    /// lock. So the id is only relied on if it is there under the lock for writing too.
    func readBootMark() throws {
        guard try index.openBoot() != nil else { return }
        let stored = try index.write { try $0.openBoot() }
        guard let boot = stored else { return }
        guard !BootID.isCurrent(boot.id) else {
            bootMark = .thisBoot
            return
        }
        bootMark = .earlierBoot(lastDurableFile: boot.lastDurableFile)
        places.suspects?.begin(after: boot.lastDurableFile)
    }

    /// Compares the files with the index if the power was lost since the store was last closed.
    ///
    /// If that fails, the mark stays and the next opening tries again. Until then each use of a suspect file compares
    /// its digest.
    func recoverFromPowerLoss(
        reportingTo logger: Logger,
        _ verifier: (_ lastDurableFile: Int64) -> StoreVerifier
    ) async {
        guard case .earlierBoot(let lastDurableFile) = bootMark else { return }
        do {
            logger.notice("the store was not closed before a power loss; comparing its files with the index")
            try dropPartials(index.partialDownloads())
            let lastFile = try index.lastFileID()
            let report = try await verifier(lastDurableFile).run()
            logger.notice(
                "the files were compared",
                metadata: ["checked": "\(report.checked)", "repaired": "\(report.repaired)"]
            )
            // Another process whose comparison failed may have published files since.
            try places.synchronizeFileSystems()
            try index.write(.power) { try $0.replaceBoot(by: BootID.current, lastDurableFile: lastFile) }
            bootMark = .thisBoot
            places.suspects?.end()
        } catch {
            logger.warning("cannot compare the files after a power loss", metadata: ["error": "\(error)"])
        }
    }

    /// Moves the durable point up, in the background, once enough files were published beyond it.
    func notePublished(_ count: Int) {
        publishedSinceDurable += count
        guard publishedSinceDurable >= Self.longestDistance, bootMark == .thisBoot else { return }
        publishedSinceDurable = 0
        Task { await moveDurablePoint() }
    }

    /// Synchronizes the files published so far, then records the last of them as the durable point.
    private func moveDurablePoint() async {
        do {
            let lastFile = try index.lastFileID()
            try await synchronizeFileSystems()
            try write { try $0.setLastDurableFile(lastFile) }
        } catch {
            // An opening after a power loss then compares more files. The next published files try again.
        }
    }

    /// Synchronizes on another thread, so that images can be published meanwhile.
    private func synchronizeFileSystems() async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            DispatchQueue(label: "avatars.synchronize").async { [places] in
                done.resume(with: Result { try places.synchronizeFileSystems() })
            }
        }
    }

    /// Makes everything durable and removes the boot id, if this is the last process that has the store open.
    func markClean() throws {
        guard bootMark == .thisBoot, try isAlone() else { return }
        try places.synchronizeFileSystems()
        try index.write(.power) { transaction in
            // A process that arrived meanwhile holds a lock already, and relies on the boot id if it read it before.
            if try isAlone() { try transaction.endBoot() }
        }
        bootMark = .none
    }

    /// Whether no other process has the store open.
    private func isAlone() throws -> Bool {
        try !places.holderNames().contains { try $0 != places.holder.name && places.isAlive($0) }
    }
}

/// How far the files are on stable storage, as this process knows.
enum BootMark: Equatable {
    /// All files are on stable storage, as the index lists them.
    case none
    /// Files have changed since the system started.
    case thisBoot
    /// Files had changed when the system stopped; they have to be compared.
    case earlierBoot(lastDurableFile: Int64)
}
