import AvatarFoundation
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing
import Workload

@testable import AvatarWriter

/// A synchronization of the file systems fails. The system then takes for written what it could not write, and the next one succeeds.
@Suite(.timeLimit(.minutes(5)))
struct FailedSynchronizationTests {
    @Test(arguments: PowerLossModel.allCases)
    func filesAreWrittenAgainBeforeTheyCountAsDurable(model: PowerLossModel) async throws {
        let slots = 1...8
        let origin = ScriptedOrigin()
        origin.want(Dictionary(uniqueKeysWithValues: slots.map { ($0, 1) }))
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore { $0.originClient = origin }
            for slot in slots {
                _ = try await store.avatar(for: ImageKey.remote(slot).key(at: ScriptedOrigin.url))
            }
            disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
            await #expect(throws: AvatarStoreError.self) { try await store.close() }
            disk.fail(nil)

            // Another process of this boot closes the store, as far as it can see with all files durable.
            try await disk.openStore().close()

            let after = disk.losePower(model, seed: seed)
            let reopened = try await after.openStore()
            for slot in slots {
                let image = try reopened.storedAvatar(for: ImageKey.remote(slot).key(at: ScriptedOrigin.url))
                #expect(image?.bytes == Picture(of: .remote(slot), version: 1).bytes, "seed \(seed)")
            }
            try await reopened.close()
        }
    }

    /// Lets the file of image 2 lose its bytes: the successor of image 1 is to share it, and the synchronization before fails.
    private static func loseSharedBytes(on disk: SimulatedDisk, _ store: AvatarStore, _ origin: ScriptedOrigin) async {
        // Version 20 is the logo that version 5 is.
        origin.want([1: 20])
        disk.fail { $0.name == "fsync" && $0.path.hasSuffix(".png") ? .fails(EIO) : nil }
        await #expect(throws: AvatarStoreError.self) {
            let key = try ImageKey.remote(1).key(at: ScriptedOrigin.url)
            _ = try await store.avatar(for: key, options: FetchOptions(policy: .reload))
        }
        disk.fail(nil)
    }

    /// The successor of an image has the bytes of a file that was published before, and shares it.
    @Test(arguments: PowerLossModel.allCases)
    func aSharedFileIsWrittenAgainBeforeItCountsAsDurable(model: PowerLossModel) async throws {
        let (shared, replaced) = (ImageKey.remote(2), ImageKey.remote(1))
        let origin = ScriptedOrigin()
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore { $0.originClient = origin }
            origin.want([1: 1, 2: 5])
            for image in [shared, replaced] { _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url)) }
            await Self.loseSharedBytes(on: disk, store, origin)
            try await store.close()

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            for (image, version) in [(shared, 5), (replaced, 1)] {
                let found = try reopened.storedAvatar(for: image.key(at: ScriptedOrigin.url))
                #expect(found?.bytes == Picture(of: image, version: version).bytes, "seed \(seed)")
            }
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }

    /// A synchronization of all files begins before the bytes of one are lost, and ends after it: those bytes are not among them.
    @Test(arguments: PowerLossModel.allCases, [false, true])
    func aFailureDuringASynchronizationIsNotForgotten(model: PowerLossModel, isOfAnotherProcess: Bool) async throws {
        let (shared, replaced) = (ImageKey.remote(2), ImageKey.remote(1))
        let origin = ScriptedOrigin()
        for seed in UInt64(1)...24 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore { $0.originClient = origin }
            origin.want([1: 1, 2: 5])
            for image in [shared, replaced] { _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url)) }
            let writer = try store.requireWritable().writer
            let begin = try await writer.beginMovingDurablePoint()
            let other = isOfAnotherProcess ? try await disk.openStore { $0.originClient = origin } : store
            await Self.loseSharedBytes(on: disk, other, origin)
            try await writer.endMovingDurablePoint(since: begin)

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            for (image, version) in [(shared, 5), (replaced, 1)] {
                let found = try reopened.storedAvatar(for: image.key(at: ScriptedOrigin.url))
                #expect(
                    found == nil || found?.bytes == Picture(of: image, version: version).bytes,
                    "\(image), seed \(seed)"
                )
            }
            try await reopened.close()
        }
    }

    /// A hard link to a file whose bytes were lost would lack them too.
    @Test(arguments: PowerLossModel.allCases)
    func aBackupHasWhatASynchronizationHadLost(model: PowerLossModel) async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore { $0.originClient = origin }
            _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
            disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
            await #expect(throws: AvatarStoreError.self) { try await store.close() }
            disk.fail(nil)

            let process = SimulatedProcess(on: disk)
            let later = try await AvatarStore.open(
                .init(directory: process.root + "/store"),
                fileSystem: process,
                bootID: disk.bootID
            )
            _ = try await later.backup(to: process.root + "/backup", fileSystem: process)

            let backup = try await disk.losePower(model, seed: seed).openStore(at: "/backup")
            let found = try backup.storedAvatar(for: image.key(at: ScriptedOrigin.url))
            #expect(found?.bytes == Picture(of: image, version: 1).bytes, "seed \(seed)")
            #expect(try await backup.verify().isSound)
            try await backup.close()
        }
    }

    /// A commit whose synchronization failed is rolled back, and whole in the log: a loss of power may bring it back.
    @Test(arguments: PowerLossModel.allCases)
    func aRolledBackCommitDoesNotComeBackWithoutItsFile(model: PowerLossModel) async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        let images = [1, 2].map { Picture(of: .own(1), version: $0).bytes }
        let key = try await store.save(images[0], named: "own")
        let synchronizations = Atomic(0)
        let moments = Locked<[DiskImage]>([])
        disk.fail { call in
            guard call.name == "fsync", call.path.hasSuffix("index.sqlite-wal") else { return nil }
            return synchronizations.add(1, ordering: .relaxed).oldValue == 0 ? .fails(EIO) : nil
        }
        disk.watch { _, image in
            if synchronizations.load(ordering: .relaxed) > 0 { moments.withLock { $0.append(image) } }
        }
        await #expect(throws: AvatarStoreError.self) { try await store.save(images[1], named: "own") }
        disk.watch(nil)
        disk.fail(nil)

        let left = moments.withLock { $0 } + [disk.image]
        #expect(left.count > 2)
        for (number, image) in left.enumerated() {
            for seed in UInt64(1)...8 {
                let reopened = try await SimulatedDisk(image.afterLossOfPower(model, seed: seed)).openStore()
                let found = try reopened.storedAvatar(for: key)?.bytes
                #expect(found.map(images.contains) == true, "before change \(number), seed \(seed)")
                try await reopened.close()
            }
        }
    }

    /// On the same file system, the synchronization of a backup loses bytes of the store too.
    @Test(arguments: PowerLossModel.allCases)
    func aFailedBackupDoesNotCostTheStoreItsImages(model: PowerLossModel) async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let store = try await disk.openStore { $0.originClient = origin }
            _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
            disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
            await #expect(throws: AvatarStoreError.self) {
                try await store.backup(to: process.root + "/backup", fileSystem: process)
            }
            disk.fail(nil)
            try await store.close()

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try reopened.storedAvatar(for: image.key(at: ScriptedOrigin.url))
            #expect(found?.bytes == Picture(of: image, version: 1).bytes, "seed \(seed)")
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }
}

extension StoreWriter {
    /// The two halves of moving the durable point, between which the file systems are synchronized.
    fileprivate func beginMovingDurablePoint() throws -> BootRecord.Moment { try boot.now() }

    fileprivate func endMovingDurablePoint(since begin: BootRecord.Moment) throws {
        try boot.moveDurablePoint(to: index.lastFileID(), since: begin)
    }
}
