import AvatarFiles
import AvatarIndex
import Logging

/// What tells the next opening whether a power loss can have come between index and files.
///
/// Plain stores into `caches` are not made durable one by one. So the index keeps the boot id from the first change on,
/// and forgets it when the last process closes the store, after everything is on stable storage. Who finds the id of
/// another boot walks the files once; who finds that of this boot walks nothing: a killed process takes nothing along
/// that it had written.
extension StoreWriter {
    /// Called before the first file is published or unlinked. Durable on return.
    func markChanged() throws {
        guard bootMark == .none else { return }
        try index.write(.power) { try $0.setBootID(BootID.current) }
        bootMark = .thisBoot
    }

    /// Looks at the mark that is there, before anything else is done: work that a dead process left is finished under it.
    func readBootMark() throws {
        guard let boot = try index.bootID() else { return }
        bootMark = boot == BootID.current ? .thisBoot : .earlierBoot
    }

    /// Walks the files if the power was lost since the store was last closed.
    ///
    /// Should that fail, the mark stays, and the next opening walks them; a read finds a file of the wrong length anyway.
    func recoverFromPowerLoss(_ verifier: StoreVerifier, reportingTo logger: Logger) async {
        guard bootMark == .earlierBoot else { return }
        do {
            logger.notice("the store was not closed before the power was lost; its files are walked once")
            try dropPartials(index.partialDownloads())
            let report = try await verifier.run()
            logger.notice(
                "the files were walked",
                metadata: ["checked": "\(report.checked)", "repaired": "\(report.repaired)"]
            )
            try index.write(.power) { try $0.setBootID(BootID.current) }
            bootMark = .thisBoot
        } catch {
            logger.warning("the files could not be walked after a power loss", metadata: ["error": "\(error)"])
        }
    }

    /// The last process that leaves makes everything durable, and says so.
    func markClean() throws {
        guard bootMark == .thisBoot, try isAlone() else { return }
        try places.synchronizeFileSystems()
        try index.write(.power) { transaction in
            // Who has come meanwhile holds a lock already, and relies on the mark if it read it before.
            if try isAlone() { try transaction.setBootID(nil) }
        }
        bootMark = .none
    }

    /// Whether no other process has the store open.
    private func isAlone() throws -> Bool {
        try !places.holderNames().contains { try $0 != places.holder.name && places.isAlive($0) }
    }
}

/// What the index says of the files, as far as this process knows.
enum BootMark {
    /// They are as the index says, on stable storage.
    case none
    /// They have changed since the system was started.
    case thisBoot
    /// They had changed when the system stopped; they have to be walked.
    case earlierBoot
}
