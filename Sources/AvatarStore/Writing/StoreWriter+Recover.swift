import AvatarCore
import AvatarFiles
import AvatarIndex
import Dispatch
import Logging

extension StoreWriter {
    /// Finishes what dead processes left pending, and removes what they left in staging.
    ///
    /// - Returns: how many pending rows no process of a store can have left; their files are not touched.
    @discardableResult
    func finishDeadHolders() throws -> Int {
        let pending = Set(try index.write { try $0.pendingHolders() })
        var foreign = 0
        for name in pending.union(try places.holderNames()) where name != places.holder.name {
            // A name that no holder has came from elsewhere with the index: nothing in staging belongs to it.
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
    /// No process has a file pending that is published, or under a name that `FilePath` does not give. An index that
    /// says so was made or changed by others, and must not make the store delete what they like.
    /// - Returns: the number of such rows; they are dropped.
    private func finishPending(of name: String) throws -> Int {
        let (files, foreign) = try index.write { transaction in
            let files = try transaction.pendingFiles(of: name)
            let own = try files.filter { file in
                guard FilePath.isPublishedName(file.path) else { return false }
                let prefix = FilePath.digestPrefix(of: file.path)
                return try !transaction.isPublished(file.path, in: file.storageClass, digestPrefix: prefix)
            }
            return (own, files.count - own.count)
        }
        try unlink(files)
        try settle()
        if foreign > 0 { try write { try $0.dropPending(of: name) } }
        return foreign
    }

    /// Finishes what dead processes left, at opening. What cannot be finished now stays pending, counts against the
    /// budget, and is tried again by whoever needs room.
    func recover(reportingTo logger: Logger) {
        do {
            let foreign = try finishDeadHolders()
            guard foreign > 0 else { return }
            logger.warning(
                "the index named files as unfinished that are published or not the store's; they were left alone",
                metadata: ["files": "\(foreign)"]
            )
        } catch {
            logger.warning("work of a dead process could not be finished", metadata: ["error": "\(error)"])
        }
    }
}

/// Records how far the files are on stable storage, for the first opening after a power loss.
///
/// Plain stores into `caches` are not made durable one by one: that would cost a sync its speed. The index keeps
///
/// - the boot id, from the first change on until the last process closes the store, which makes everything durable;
/// - the row id of the last file that was on stable storage then, the durable point.
///
/// An opening that finds the id of another boot compares the lengths of all files, and the digests of the files in `caches`
/// behind the durable point. An opening that finds the id of this boot compares nothing: a process that is killed takes
/// nothing along that it had written. Documents and the successors of replaced images are durable before they are listed.
extension StoreWriter {
    /// An opening after a power loss compares about this many digests at most: 8 KiB each are read in a second or two.
    private static let longestDistance = 16_384

    /// Called before the first file is published or unlinked. Durable on return.
    func markChanged() throws {
        guard bootMark == .none else { return }
        try index.write(.power) { try $0.beginBoot(BootID.current) }
        bootMark = .thisBoot
    }

    /// Reads the mark before anything else is done: work that a dead process left is finished under it.
    func readBootMark() throws {
        guard let boot = try index.openBoot() else { return }
        guard !BootID.isCurrent(boot.id) else {
            bootMark = .thisBoot
            return
        }
        bootMark = .earlierBoot(lastDurableFile: boot.lastDurableFile)
        places.suspects?.begin(after: boot.lastDurableFile)
    }

    /// Compares the files with the index if the power was lost since the store was last closed.
    ///
    /// Should that fail, the mark stays, the next opening tries again, and each use compares a suspect file until then.
    func recoverFromPowerLoss(
        reportingTo logger: Logger,
        _ verifier: (_ lastDurableFile: Int64) -> StoreVerifier
    ) async {
        guard case .earlierBoot(let lastDurableFile) = bootMark else { return }
        do {
            logger.notice("the store was not closed before the power was lost; its files are compared once")
            try dropPartials(index.partialDownloads())
            let lastFile = try index.lastFileID()
            let report = try await verifier(lastDurableFile).run()
            logger.notice(
                "the files were compared",
                metadata: ["checked": "\(report.checked)", "repaired": "\(report.repaired)"]
            )
            // Another process that could not compare them may have published files since.
            try places.synchronizeFileSystems()
            try index.write(.power) { try $0.replaceBoot(by: BootID.current, lastDurableFile: lastFile) }
            bootMark = .thisBoot
            places.suspects?.end()
        } catch {
            logger.warning("the files could not be compared after a power loss", metadata: ["error": "\(error)"])
        }
    }

    /// Moves the durable point up, in the background, once many files were published behind it.
    func notePublished(_ count: Int) {
        publishedSinceDurable += count
        guard publishedSinceDurable >= Self.longestDistance, bootMark == .thisBoot else { return }
        publishedSinceDurable = 0
        Task { await moveDurablePoint() }
    }

    private func moveDurablePoint() async {
        do {
            let lastFile = try index.lastFileID()
            try await synchronizeFileSystems()
            try write { try $0.setLastDurableFile(lastFile) }
        } catch {
            // An opening after a power loss compares more files then; the next files to be published try again.
        }
    }

    /// On a thread of its own: images are published meanwhile.
    private func synchronizeFileSystems() async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global(qos: .utility).async { [places] in
                done.resume(with: Result { try places.synchronizeFileSystems() })
            }
        }
    }

    /// The last process that leaves makes everything durable, and says so.
    func markClean() throws {
        guard bootMark == .thisBoot, try isAlone() else { return }
        try places.synchronizeFileSystems()
        try index.write(.power) { transaction in
            // A process that came meanwhile holds a lock already, and relies on the mark if it read it before.
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
    /// They are as the index says, on stable storage.
    case none
    /// They have changed since the system was started.
    case thisBoot
    /// They had changed when the system stopped, and have to be compared.
    case earlierBoot(lastDurableFile: Int64)
}
