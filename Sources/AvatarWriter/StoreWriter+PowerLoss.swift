import AvatarCore
import AvatarFiles
package import AvatarIndex
import Dispatch
package import Logging

/// Records how far the files are on stable storage, for the first opening after a power loss.
///
/// New files in `caches` are not synchronized one by one: that would make a sync slow. Instead the index keeps
///
/// - the boot id, from the first change until the last process closes the store, which makes everything durable;
/// - the durable point: the row id of the last file that was on stable storage then.
///
/// An opening that finds the id of another boot compares the lengths of all files, and the digests of those
/// beyond the durable point. An opening that finds the id of this boot compares nothing: a killed process loses nothing that
/// it had written. Documents and the successors of replaced images are durable before the index lists them.
package final class BootRecord {
    private let index: AvatarIndex
    private let places: StorePlaces
    /// The boot that runs now.
    private let current: BootID
    /// How far the files are on stable storage.
    private(set) var mark = BootMark.none
    /// Whether a synchronization has failed since the store was last closed, as this process knows.
    private var hasFailed = false
    /// How many synchronizations have failed in this process.
    private var failureCount = 0
    /// How many synchronizations of all files are among them: one in the background tells of its failure before it ends.
    private var countedWholeFailures = 0
    /// How many of them are not in the index yet, because it could not be written.
    private(set) var unrecordedCount = 0
    /// The holders of other processes that may have lost files, and are counted among the failures.
    private var counted: Set<String> = []

    /// Between the id of a boot and the number of synchronizations that have failed since.
    private static let failure = " failed "

    init(_ index: AvatarIndex, _ places: StorePlaces, _ current: BootID) {
        (self.index, self.places, self.current) = (index, places, current)
    }

    /// Records the boot id before the first file is published or unlinked. Durable on return.
    package func markChanged() throws {
        guard mark == .none else { return }
        try index.write(.power) { try $0.beginBoot(current.text) }
        mark = .thisBoot
    }

    /// Reads the boot id before anything else happens, so that a dead process's work is finished with the right mark.
    ///
    /// A closing process may be about to remove the id, because it looked for other holders before this one had its
    /// lock. So the id is only relied on if it is there under the lock for writing too.
    func read() throws {
        guard try index.openBoot() != nil else { return }
        let stored = try index.write { try $0.openBoot() }
        guard let boot = stored else { return }
        let (id, failures) = Self.parts(of: boot.id)
        hasFailed = failures > 0
        let isThisBoot = current.isRecorded(as: id)
        // Of an earlier boot, whose processes are dead, nothing is left that can be read and is not on the disk.
        if !isThisBoot { counted = try lossesOfOthers { !$0.isAlive } }
        mark = isThisBoot ? .thisBoot : .earlierBoot(lastDurableFile: boot.lastDurableFile)
        // After a failed synchronization the system may drop what it could not write, and read the disk instead.
        if hasFailed || !isThisBoot { places.suspects?.begin(after: boot.lastDurableFile) }
    }

    /// Makes all files durable, up to `lastFile`, after they were compared with the index.
    func markCompared(upTo lastFile: Int64) throws {
        // Another process whose comparison failed may have published files since.
        let begin = try synchronize()
        try index.write(.power) { transaction in
            guard try isSound(since: begin, in: transaction) else { throw Self.failureElsewhere }
            let failures = Self.failures(in: try transaction.openBoot()?.id)
            try transaction.replaceBoot(by: Self.record(current.text, failures: failures), lastDurableFile: lastFile)
        }
        mark = .thisBoot
        if hasFailed { places.suspects?.begin(after: lastFile) } else { places.suspects?.end() }
    }

    /// Makes everything durable and removes the boot id, if this is the last process that has the store open.
    func markClean() throws {
        try recordFailures()
        places.holder.set(.closing, to: true)
        // Another process may have changed the store, and closed it before this one.
        guard try mark == .thisBoot || isOfThisBoot(index.openBoot()?.id), let present = try holdersIfAlone()
        else { return }
        let begin = try synchronize()
        // Interrupted downloads may lack bytes, and no digest would tell it.
        if hasFailed { try places.removeFiles(of: index.partialDownloads()) }
        try index.write(.power) { transaction in
            // A process that arrived meanwhile relies on the boot id if it read it before, and may have changed files since, even
            // if it has died or is closing the store by now.
            guard try !isBesideSynchronization(), let now = try holdersIfAlone(), now.isSubset(of: present),
                try isSound(since: begin, in: transaction)
            else { return }
            try transaction.endBoot()
        }
        mark = .none
    }

    private func isOfThisBoot(_ record: String?) -> Bool {
        record.map { current.isRecorded(as: Self.parts(of: $0).id) } ?? false
    }

    /// Makes all files durable that were published before, and moves the durable point there.
    func synchronizeFiles() throws {
        let lastFile = try index.lastFileID()
        let begin = try synchronize()
        if mark == .thisBoot { try moveDurablePoint(to: lastFile, since: begin) }
        let isWritten = try index.write { try isSound(since: begin, in: $0) }
        guard isWritten else { throw Self.failureElsewhere }
    }

    /// Makes all files durable.
    ///
    /// - Returns: the moment before.
    private func synchronize() throws -> Moment {
        let begin = try now()
        places.holder.beginSynchronizing()
        defer { places.holder.endSynchronizing() }
        do {
            try retire(places.synchronizeFileSystems(rewriting: begin.files))
            return begin
        } catch {
            noteFailure()
            throw error
        }
    }

    /// Makes the files in `caches` among `lost` misses; the next opening unlinks them.
    ///
    /// - Throws: `storage` for a document, which only a repair takes away.
    func retire(_ lost: [FileDigest]) throws {
        guard !lost.isEmpty else { return }
        try index.write { transaction in
            for file in lost where file.storageClass == .caches {
                _ = try transaction.retireFile(id: file.id, absence: .missing, holder: places.holder.name)
            }
        }
        guard let document = lost.first(where: { $0.storageClass == .documents }) else { return }
        throw AvatarStoreError(
            .storage,
            "The document \"\(document.path)\" has lost its bytes, because the disk could not write them. Run "
                + "`avatars verify --repair`."
        )
    }

    /// The moment at which a synchronization of all files begins.
    struct Moment: Sendable {
        /// The files that must be written again before they count as durable.
        let files: [FileDigest]
        fileprivate let id: String?
        fileprivate let failureCount: Int
    }

    /// The present moment.
    func now() throws -> Moment {
        let boot = try learnOfFailures()
        let files = try boot.map { hasFailed ? try index.files(beyond: $0.lastDurableFile) : [] } ?? []
        return Moment(files: files, id: boot?.id, failureCount: failureCount)
    }

    /// Whether a synchronization of files may have failed by now, in this process or another: the system takes for written
    /// then what it could not write.
    func mayHaveLostFiles() throws -> Bool {
        // The failure of another process is known when its synchronization has ended.
        let isUnknown = try isBesideSynchronization()
        _ = try learnOfFailures()
        return hasFailed || isUnknown
    }

    /// Learns of the failures of other processes.
    ///
    /// - Returns: the boot in the index.
    private func learnOfFailures() throws -> (id: String, lastDurableFile: Int64)? {
        let losses = try lossesOfOthers()
        if !losses.isSubset(of: counted) { noteFailure() }
        if places.failedSynchronizations.count != countedWholeFailures { noteFailure() }
        counted = losses
        try recordFailures()
        let boot = try index.openBoot()
        if let boot, Self.failures(in: boot.id) > 0 {
            hasFailed = true
            places.suspects?.begin(after: boot.lastDurableFile)
        }
        return boot
    }

    /// Whether no synchronization of any process has failed since.
    private func isSound(since begin: Moment, in transaction: IndexTransaction) throws -> Bool {
        let failures = Self.failures(in: try transaction.openBoot()?.id)
        return try failureCount == begin.failureCount && failures == Self.failures(in: begin.id)
            && places.failedSynchronizations.count == countedWholeFailures && lossesOfOthers().isSubset(of: counted)
    }

    /// The holders of other processes that may have lost files which the index takes for sound.
    private func lossesOfOthers(where isMeant: (Holder.State) -> Bool = { _ in true }) throws -> Set<String> {
        Set(try places.holder.others().filter { $0.mayHaveLostFiles && isMeant($0) }.map(\.name))
    }

    /// Whether another process may be told of a failure in this moment.
    private func isBesideSynchronization() throws -> Bool {
        try places.holder.others().contains { $0.isAlive && $0.doubts.contains(.synchronizing) }
    }

    /// Counts what a dead process may have lost, unless it is counted.
    func note(_ dead: Holder.State) {
        if dead.mayHaveLostFiles, counted.insert(dead.name).inserted { noteFailure() }
    }

    /// Marks the boot, for processes that open the store later too. Until the store is closed, each use of a file that is
    /// not on stable storage compares its digest.
    func noteFailure() {
        hasFailed = true
        failureCount += 1
        unrecordedCount += 1
        countedWholeFailures = places.failedSynchronizations.count
        places.suspects?.begin(after: 0)
        // The log of the index may have lost bytes too, and tells it once.
        for _ in 1...3 {
            do {
                return try recordFailures()
            } catch {
                // This process knows it still. Its next transaction has the record, or its next look at the files.
            }
        }
        places.holder.set(.files, to: true)
    }

    /// Writes the failures of this process into the index, as far as they are not there.
    private func recordFailures() throws {
        guard unrecordedCount > 0 else { return }
        try index.write(.power) { try recordFailures(in: $0) }
        endRecording()
    }

    /// As `recordFailures()`, in a transaction that has another purpose. `endRecording()` must follow its commit.
    func recordFailures(in transaction: IndexTransaction) throws {
        guard unrecordedCount > 0 else { return }
        let stored = try transaction.openBoot()
        // The files of an earlier boot are still to be compared.
        let (id, failures) = Self.parts(of: stored?.id ?? current.text)
        let record = Self.record(id, failures: failures + unrecordedCount)
        if stored == nil, mark == .none {
            // All published files are on stable storage; what is staged, and published later, may have lost bytes.
            try transaction.beginBoot(record)
        } else {
            try transaction.replaceBoot(by: record, lastDurableFile: 0)
        }
        places.suspects?.begin(after: try transaction.openBoot()?.lastDurableFile ?? 0)
    }

    /// Takes the failures for recorded, once their transaction is committed.
    func endRecording() {
        guard unrecordedCount > 0 else { return }
        unrecordedCount = 0
        if mark == .none { mark = .thisBoot }
        places.holder.set(.files, to: false)
    }

    /// The record of the boot `id`.
    private static func record(_ id: String, failures: Int) -> String {
        failures == 0 ? id : id + failure + "\(failures)"
    }

    private static func failures(in record: String?) -> Int { record.map { parts(of: $0).failures } ?? 0 }

    /// The id of the boot in the `record` of the index, and how many synchronizations have failed since.
    private static func parts(of record: String) -> (id: String, failures: Int) {
        guard let end = record.firstRange(of: failure) else { return (record, 0) }
        return (String(record[..<end.lowerBound]), Int(record[end.upperBound...]) ?? 1)
    }

    /// Whether a synchronization has failed since the store was last closed: its files can be read, and may not be on the disk.
    package static func hasFailed(in index: AvatarIndex) throws -> Bool {
        failures(in: try index.openBoot()?.id) > 0
    }

    /// Records that the files up to `lastFile` are on stable storage, unless a synchronization has failed since `begin`.
    ///
    /// A mark of a failure stays until the last process closes the store: a file without a row yet may have lost bytes too.
    func moveDurablePoint(to lastFile: Int64, since begin: Moment) throws {
        try index.write { transaction in
            guard try !isBesideSynchronization(), try isSound(since: begin, in: transaction) else { return }
            try transaction.setLastDurableFile(lastFile)
            if hasFailed { places.suspects?.begin(after: lastFile) }
        }
    }

    /// The other holders; `nil` if one has the store open and is not closing it.
    private func holdersIfAlone() throws -> Set<String>? {
        let others = try places.holder.others()
        guard others.allSatisfy({ !$0.isAlive || $0.doubts.contains(.closing) }) else { return nil }
        return Set(others.map(\.name))
    }

    /// The error for a synchronization that may have lost files, although the call of this process did not fail.
    private static var failureElsewhere: AvatarStoreError {
        AvatarStoreError(.storage, "A synchronization failed in another process meanwhile.")
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

extension StoreWriter {
    /// Compares the files with the index if the power was lost since the store was last closed.
    ///
    /// If that fails, the mark stays and the next opening tries again. Until then each use of a suspect file compares
    /// its digest.
    package func recoverFromPowerLoss(
        reportingTo logger: Logger,
        _ compare: (_ lastDurableFile: Int64) async throws -> (checked: Int, repaired: Int)
    ) async {
        guard case .earlierBoot(let lastDurableFile) = boot.mark else { return }
        do {
            logger.notice("the store was not closed before a power loss; comparing its files with the index")
            try dropPartials(index.partialDownloads())
            let lastFile = try index.lastFileID()
            let report = try await compare(lastDurableFile)
            logger.notice(
                "the files were compared",
                metadata: ["checked": "\(report.checked)", "repaired": "\(report.repaired)"]
            )
            try boot.markCompared(upTo: lastFile)
        } catch {
            logger.warning("cannot compare the files after a power loss", metadata: ["error": "\(error)"])
        }
    }

    /// Marks the boot after a synchronization that was not of the store itself, but of a file system that it may lie on.
    package func noteLostBytes() throws {
        boot.noteFailure()
    }

    /// Moves the durable point up, in the background, once enough files were published beyond it.
    func notePublished(_ count: Int) {
        publishedSinceDurable += count
        guard publishedSinceDurable >= longestDistance, boot.mark == .thisBoot, moving == nil else { return }
        publishedSinceDurable = 0
        moving = Task {
            await moveDurablePoint()
            moving = nil
        }
    }

    /// Synchronizes the files published so far, then records the last of them as the durable point.
    private func moveDurablePoint() async {
        do {
            let lastFile = try index.lastFileID()
            let begin = try boot.now()
            places.holder.beginSynchronizing()
            defer { places.holder.endSynchronizing() }
            do {
                try boot.retire(await synchronizeFileSystems(rewriting: begin.files))
            } catch {
                boot.noteFailure()
                throw error
            }
            try boot.moveDurablePoint(to: lastFile, since: begin)
        } catch {
            // An opening after a power loss then compares more files. The next published files try again.
        }
    }

    /// Synchronizes on another thread, so that images can be published meanwhile.
    private func synchronizeFileSystems(rewriting files: [FileDigest]) async throws -> [FileDigest] {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<[FileDigest], any Error>) in
            DispatchQueue(label: "avatars.synchronize").async { [places] in
                done.resume(with: Result { try places.synchronizeFileSystems(rewriting: files) })
            }
        }
    }
}
