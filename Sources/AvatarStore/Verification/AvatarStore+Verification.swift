import AvatarCore
import AvatarFiles
import AvatarIndex

extension AvatarStore {
    /// Compares index and files: every file that the index lists, every file that is there, the totals, the database.
    ///
    /// Others may use the store meanwhile. Repairing is idempotent, takes the write lock for short moments only, and
    /// removes the last good copy of nothing: damaged and unknown documents are kept in the folder `set-aside` beside
    /// the documents; what is unknown in `caches` goes.
    ///
    /// - Parameter repair: repairs what is found, in a store that is open for writing.
    /// - Parameter quick: compares lengths only, and leaves the bytes and part of the database unread.
    /// - Parameter progress: is told how far it has come.
    /// - Throws: `damagedIndex`, which `verify(_:repair:quick:)` can repair while the store is closed; `readOnly`;
    ///   another error of the index or the disk; `CancellationError`.
    public func verify(
        repair: Bool = false,
        quick: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> VerificationReport {
        let writer = repair ? try requireWritable().writer : nil
        return try await verifier(repairingWith: writer, depth: quick ? .quick : .full, progress: progress).run()
    }

    /// Compares index and files of a store that this process does not have open. Without `repair` nothing is changed,
    /// and a damaged index is a fault of the report.
    ///
    /// With `repair`, an index that is damaged or lost is made anew from the files while no other process has the store
    /// open: the damaged one is kept as `index.sqlite.damaged-TIME`, documents are listed again under the keys that they
    /// carry, and `caches` is emptied, to be fetched again. Contacts and settings are not in the files; the report says
    /// what is lost (`VerificationReport.lost`).
    ///
    /// - Throws: `noStore`; `busy` if another process has the store open and the index has to be made anew;
    ///   `foreignIndex` and `newerIndex`, with nothing changed; an error of the index or the disk.
    public static func verify(
        _ configuration: Configuration,
        repair: Bool = false,
        quick: Bool = false,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> VerificationReport {
        var configuration = configuration
        configuration.access = repair ? .readWriteExisting : .readOnly
        let rebuild = IndexRebuild(configuration.layout, fileMode: configuration.fileMode)
        do {
            let layout = configuration.layout
            if repair { try layout.requireNoRestore() }
            let isLost = layout.isIndexLost && (repair || Directory.exists(layout.indexPath))
            if isLost || repair && layout.hasUnlistedFiles {
                throw AvatarStoreError(.damagedIndex, "The index \(configuration.layout.indexPath) is lost.")
            }
            return try await verifyOpened(configuration, repair: repair, quick: quick, progress)
        } catch let error as AvatarStoreError where error.code == .damagedIndex {
            var report = VerificationReport()
            if repair {
                let staging = configuration.layout.staging(of: .documents)
                let setAside = Set(try FileStore.setAsidePaths(of: .documents, beside: staging))
                var lost = try rebuild.run()
                report = try await verifyOpened(configuration, repair: true, quick: quick, progress)
                let documents = try FileStore.setAsidePaths(of: .documents, beside: staging)
                    .filter { !setAside.contains($0) }
                lost.documents = Array(documents.prefix(VerificationReport.maximumListedFaults))
                lost.documentCount = documents.count
                report.lost = lost
            }
            report.add(VerificationFault(.damagedIndex, path: configuration.layout.indexPath), isRepaired: repair)
            return report
        }
    }

    private static func verifyOpened(
        _ configuration: Configuration,
        repair: Bool,
        quick: Bool,
        _ progress: @escaping ProgressHandler
    ) async throws -> VerificationReport {
        let store = try await open(configuration)
        let result: Result<VerificationReport, any Error>
        do {
            result = .success(try await store.verify(repair: repair, quick: quick, progress: progress))
        } catch {
            result = .failure(error)
        }
        do {
            try await store.close()
        } catch {
            // What was found says more than what closing a damaged store meets.
            if case .success = result { throw error }
        }
        return try result.get()
    }

    func verifier(
        repairingWith writer: StoreWriter?,
        depth: StoreVerifier.Depth,
        progress: @escaping ProgressHandler = { _ in }
    ) -> StoreVerifier {
        StoreVerifier(
            index: index,
            roots: roots,
            staging: StagingLeftovers(configuration.layout),
            writer: writer,
            depth: depth,
            progress: progress
        )
    }
}
