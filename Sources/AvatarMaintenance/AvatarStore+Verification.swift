import AvatarCore
package import AvatarFileSystem
package import AvatarFiles
public import AvatarReports
public import AvatarStore
import AvatarWriter

extension AvatarStore {
    /// Compares index and files: every file that the index lists, every file on disk, the totals, and the database
    /// itself. If the index has numbers that no program writes (`wrongNumber`), files are compared once they are repaired.
    ///
    /// Other processes may use the store meanwhile. A repair is idempotent, holds the write lock only for short
    /// moments, and never removes the last good copy of an image: damaged and unknown documents are moved to the folder
    /// `set-aside` beside the documents, unknown files in `caches` are deleted.
    ///
    /// - Parameter repair: whether faults are repaired. Default: no.
    /// - Parameter quick: whether only lengths are compared, and part of the database checked. Default: no, all bytes
    ///   are read.
    /// - Parameter progress: called as the verification advances.
    /// - Throws: `damagedIndex`, which `verify(_:repair:quick:progress:)` can repair while the store is closed;
    ///   `readOnly` for a repair in a store that is open for reading only; another error of the index or the disk;
    ///   `CancellationError` if the task is cancelled.
    public func verify(
        repair: Bool = false,
        quick: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> VerificationReport {
        let writer = repair ? try requireWritable().writer : nil
        return try await verifier(repairingWith: writer, depth: quick ? .quick : .full, progress: progress).run()
    }

    /// Compares index and files of a store that this process does not have open. Without `repair` nothing is changed,
    /// and a damaged index is a fault in the report.
    ///
    /// With `repair`, a damaged or lost index is rebuilt from the files, if no other process has the store open. The
    /// damaged index is kept as `index.sqlite.damaged-TIME`. Documents are listed again under the keys that they carry.
    /// `caches` is emptied, to be fetched again. Contacts and settings are not in the files; `VerificationReport.lost`
    /// tells what was lost.
    ///
    /// - Parameter configuration: the paths of the store.
    /// - Parameter repair: whether faults are repaired. Default: no.
    /// - Parameter quick: whether only lengths are compared, and part of the database checked. Default: no, all bytes
    ///   are read.
    /// - Parameter progress: called as the verification advances.
    /// - Throws: `noStore` if there is no store; `busy` if the index has to be rebuilt while another process has the
    ///   store open, or a store is being restored there; `foreignIndex` or `newerIndex` if the database is not this
    ///   program's, with nothing changed; `unusableRoot` if a root holds foreign files; another error of the index or
    ///   the disk; `CancellationError` if the task is cancelled.
    public static func verify(
        _ configuration: Configuration,
        repair: Bool = false,
        quick: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> VerificationReport {
        try await verify(
            configuration,
            fileSystem: LocalFileSystem(),
            repair: repair,
            quick: quick,
            progress: progress
        )
    }

    /// As `verify(_:repair:quick:progress:)`, with a file system and a boot of the caller's choice.
    package static func verify(
        _ configuration: Configuration,
        fileSystem: any FileSystem,
        bootID: BootID = .current,
        repair: Bool = false,
        quick: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> VerificationReport {
        var configuration = configuration
        configuration.access = repair ? .readWriteExisting : .readOnly
        let rebuild = IndexRebuild(configuration.layout, on: fileSystem, fileMode: configuration.fileMode)
        do {
            let layout = configuration.layout
            if repair { try layout.requireNoRestore(on: fileSystem) }
            let isLost = try layout.isIndexLost(on: fileSystem) && (repair || fileSystem.exists(layout.indexPath))
            if try isLost || repair && layout.hasUnlistedFiles(on: fileSystem) {
                throw AvatarStoreError(.damagedIndex, "The index \"\(configuration.layout.indexPath)\" is lost.")
            }
            let store = try await open(configuration, fileSystem: fileSystem, bootID: bootID)
            return try await verify(closing: store, repair: repair, quick: quick, progress)
        } catch let error as AvatarStoreError where error.code == .damagedIndex {
            var report = VerificationReport()
            if repair {
                let staging = configuration.layout.staging(of: .documents)
                let setAside = Set(try FileStore.setAsidePaths(of: .documents, beside: staging, on: fileSystem))
                var lost = try rebuild.run()
                let store = try await open(configuration, fileSystem: fileSystem, bootID: bootID)
                report = try await verify(closing: store, repair: true, quick: quick, progress)
                let documents = try FileStore.setAsidePaths(of: .documents, beside: staging, on: fileSystem)
                    .filter { !setAside.contains($0) }
                lost.documents = Array(documents.prefix(VerificationReport.maximumListedFaults))
                lost.documentCount = documents.count
                report.lost = lost
            }
            report.add(VerificationFault(.damagedIndex, path: configuration.layout.indexPath), isRepaired: repair)
            return report
        }
    }

    /// Verifies the store, and closes it.
    private static func verify(
        closing store: AvatarStore,
        repair: Bool,
        quick: Bool,
        _ progress: @escaping ProgressHandler
    ) async throws -> VerificationReport {
        let result: Result<VerificationReport, any Error>
        do {
            result = .success(try await store.verify(repair: repair, quick: quick, progress: progress))
        } catch {
            result = .failure(error)
        }
        do {
            try await store.close()
        } catch {
            // The result of the verification matters more than an error at closing a damaged store.
            if case .success = result { throw error }
        }
        return try result.get()
    }
}
