import AvatarFoundation
import AvatarMaintenance
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Dispatch
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
                #expect(image?.bytes == Image(of: .remote(slot), version: 1).bytes, "seed \(seed)")
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
                #expect(found?.bytes == Image(of: image, version: version).bytes, "seed \(seed)")
            }
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }

    /// A synchronization that failed is told once: the next one of the same file succeeds, and its bytes are still not on the disk.
    @Test(arguments: PowerLossModel.allCases, [false, true])
    func aSharedFileIsWrittenAgainAfterAFailure(model: PowerLossModel, isOfAnotherProcess: Bool) async throws {
        let replaced = ImageKey.remote(1)
        let key = try replaced.key(at: ScriptedOrigin.url)
        let origin = ScriptedOrigin()
        for seed in UInt64(1)...24 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore { $0.originClient = origin }
            origin.want([1: 1, 2: 5])
            for image in [ImageKey.remote(2), replaced] {
                _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
            }
            let other = isOfAnotherProcess ? try await disk.openStore { $0.originClient = origin } : store
            await Self.loseSharedBytes(on: disk, other, origin)
            _ = try await store.avatar(for: key, options: FetchOptions(policy: .reload))

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try reopened.storedAvatar(for: key)
            #expect(found?.bytes == Image(of: replaced, version: 20).bytes, "seed \(seed)")
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
                    found == nil || found?.bytes == Image(of: image, version: version).bytes,
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
            #expect(found?.bytes == Image(of: image, version: 1).bytes, "seed \(seed)")
            #expect(try await backup.verify().isSound)
            try await backup.close()
        }
    }

    /// The system may drop what it could not write, and read the disk instead.
    @Test func bytesThatTheSystemHasDroppedAreNoImage() async throws {
        let slots = 1...8
        let origin = ScriptedOrigin()
        origin.want(Dictionary(uniqueKeysWithValues: slots.map { ($0, 1) }))
        let disk = SimulatedDisk()
        let store = try await disk.openStore { $0.originClient = origin }
        let keys = try slots.map { try ImageKey.remote($0).key(at: ScriptedOrigin.url) }
        for key in keys { _ = try await store.avatar(for: key) }
        disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
        await #expect(throws: AvatarStoreError.self) { try await store.close() }
        disk.fail(nil)

        let next = try await disk.openStore()
        for key in keys { #expect(try next.storedAvatar(for: key) != nil) }
        disk.dropCaches()
        for key in keys { #expect(try next.storedAvatar(for: key) == nil) }
        try await next.close()

        let after = try await disk.losePower(.strict, seed: 1).openStore()
        for key in keys { #expect(try after.storedAvatar(for: key) == nil) }
        #expect(try await after.verify().isSound)
        try await after.close()
    }

    @Test func documentWhoseBytesTheSystemHasDroppedIsNotStored() async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        disk.fail { $0.name == "fsync" && !$0.path.contains("index.sqlite") ? .drops : nil }

        await #expect(throws: AvatarStoreError.self) {
            try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        }

        disk.fail(nil)
        #expect(try store.storedAvatar(for: AvatarKey(name: "own")) == nil)
        try await store.save(Image(of: .own(1), version: 2).bytes, named: "own")
        try await store.close()
        let after = try await disk.losePower(.strict, seed: 1).openStore()
        #expect(try after.storedAvatar(for: AvatarKey(name: "own"))?.bytes == Image(of: .own(1), version: 2).bytes)
        try await after.close()
    }

    /// A document that is damaged is not written again as it is, and does not count as durable.
    @Test func damagedDocumentIsReportedByTheClose() async throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let store = try await AvatarStore.open(
            .init(directory: process.root + "/store"),
            fileSystem: process,
            bootID: disk.bootID
        )
        let key = try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        let path = try #require(try store.storedAvatar(for: key)?.localFile)
        disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
        await #expect(throws: AvatarStoreError.self) { try await store.close() }
        disk.fail(nil)
        disk.put(Image(of: .own(1), version: 2).bytes, at: String(path.dropFirst(process.root.count)))

        let next = try await disk.openStore()
        let error = await #expect(throws: AvatarStoreError.self) { try await next.close() }
        #expect(error?.message.contains("has lost its bytes") == true)

        let again = try await disk.openStore()
        #expect(try again.storedAvatar(for: key) == nil)
        #expect(try again.index.openBoot()?.id.contains("failed") == true)
    }

    /// A log that could not be written again is left as by a dead process, so that the next opening writes it.
    @Test(arguments: PowerLossModel.allCases)
    func aLogThatIsNotOnTheDiskIsWrittenByTheNextOpening(model: PowerLossModel) async throws {
        let document = Image(of: .own(1), version: 1).bytes
        for seed in UInt64(1)...2 {
            let disk = SimulatedDisk()
            let store = try await disk.openStore()
            let key = try await store.save(document, named: "own")
            try await store.save(Image(of: .own(2), version: 1).bytes, named: "other", in: .caches)
            disk.fail { $0.name == "fsync" && $0.path.hasSuffix("index.sqlite-wal") ? .fails(EIO) : nil }
            await #expect(throws: AvatarStoreError.self) { try await store.close() }
            disk.fail(nil)
            let moments = Locked<[DiskImage]>([])
            disk.watch { call, image in
                if call.path.contains("index.sqlite") { moments.withLock { $0.append(image) } }
            }
            try await disk.openStore().close()
            disk.watch(nil)

            for (number, image) in moments.withLock(\.self).enumerated() {
                let after = try await SimulatedDisk(image.afterLossOfPower(model, seed: seed)).openStore()
                #expect(try after.storedAvatar(for: key)?.bytes == document, "before change \(number), seed \(seed)")
                try await after.close()
            }
        }
    }

    /// Tells of the first synchronization of all files late: after `release`, or after 200 milliseconds.
    private final class LateFileSystem: ForwardingFileSystem {
        let real: SimulatedProcess
        private let isFirst = Atomic(true)
        private let isReleased = DispatchSemaphore(value: 0)

        init(_ real: SimulatedProcess) { self.real = real }

        func release() { isReleased.signal() }

        func syncfs(_ file: Int32) -> Int32 {
            let result = real.syncfs(file)
            let error = errno
            if isFirst.exchange(false, ordering: .relaxed) {
                _ = isReleased.wait(timeout: DispatchTime.now() + .milliseconds(200))
            }
            errno = error
            return result
        }
    }

    /// The durable point is being moved while the store is closed. Its synchronization is told of the loss, and no later one.
    @Test(arguments: PowerLossModel.allCases)
    func aLossThatABackgroundSynchronizationIsToldOfIsNotedByTheClose(model: PowerLossModel) async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let files = LateFileSystem(process)
            var configuration = AvatarStore.Configuration(directory: process.root + "/store")
            configuration.originClient = origin
            let store = try await AvatarStore.open(configuration, fileSystem: files, bootID: disk.bootID)
            try await store.requireWritable().writer.moveDurablePoint(every: 1)
            let failures = Atomic(0)
            disk.fail { call in
                guard call.name == "syncfs" else { return nil }
                return failures.add(1, ordering: .relaxed).oldValue == 0 ? .fails(EIO) : nil
            }
            _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
            try await store.close()
            files.release()

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try reopened.storedAvatar(for: image.key(at: ScriptedOrigin.url))
            #expect(found == nil || found?.bytes == Image(of: image, version: 1).bytes, "seed \(seed)")
            try await reopened.close()
        }
    }

    /// A full disk does not let the index be written, so the failure is in the lock file of the process alone for now. The next change
    /// records it, or another process before it takes files for durable.
    @Test(arguments: [false, true])
    func aFailureThatCannotBeRecordedIsRecordedByTheNextChange(isFoundByAnother: Bool) async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        let disk = SimulatedDisk()
        let store = try await disk.openStore { $0.originClient = origin }
        _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
        let hasFailed = Atomic(false)
        disk.fail { call in
            let isIndex = call.path.contains("index.sqlite")
            if call.name == "fsync", !isIndex {
                hasFailed.store(true, ordering: .relaxed)
                return .fails(EIO)
            }
            return hasFailed.load(ordering: .relaxed) && call.name == "write" && isIndex ? .fails(ENOSPC) : nil
        }
        await #expect(throws: AvatarStoreError.self) {
            try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        }
        disk.fail(nil)
        let other = try await disk.openStore()
        #expect(try other.index.openBoot()?.id.contains("failed") == false)

        if isFoundByAnother {
            _ = try await other.requireWritable().writer.beginMovingDurablePoint()
        } else {
            try await store.save(Image(of: .own(2), version: 1).bytes, named: "other")
        }

        #expect(try other.index.openBoot()?.id.contains("failed") == true)
        try await store.close()
        try await other.close()
        #expect(try await disk.openStore().index.openBoot() == nil)
    }

    #if HTTPOrigin
    /// An interrupted download has no digest by which missing bytes would be found.
    @Test func aDownloadThatMayHaveLostBytesIsNotContinued() async throws {
        let face = SampleImage.png(seed: 1, byteCount: 600_000)
        let response = LoopbackOrigin.Response.image(face, etag: "\"one\"", cacheControl: "max-age=60")
        let origin = try await LoopbackOrigin.start()
        let url = origin.url("/face.png")
        let disk = SimulatedDisk()
        func open(_ disk: SimulatedDisk) async throws -> AvatarStore {
            try await disk.openStore { $0.http.allowsPrivateNetworks = true }
        }
        let store = try await open(disk)
        origin.setResponse(response.behaving(.cutShort(after: 300_000)), for: "/face.png")
        await #expect(throws: AvatarStoreError.self) { try await store.avatar(for: url) }
        #expect(try store.statistics().stagingBytes > 0)
        disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
        await #expect(throws: AvatarStoreError.self) { try await store.close() }
        disk.fail(nil)
        try await open(disk).close()
        disk.dropCaches()

        origin.setResponse(response, for: "/face.png")
        let after = try await open(disk)
        #expect(try await after.avatar(for: url).bytes == face)
        #expect(origin.requests.last?.headers["Range"] == nil)
        try await after.close()
        try await origin.stop()
    }
    #endif

    /// The store is open for reading only, as the command `backup` opens it, and no other process is there to note the loss.
    @Test(arguments: PowerLossModel.allCases)
    func aFailedBackupOfADeadProcessIsNoted(model: PowerLossModel) async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let configuration = AvatarStore.Configuration(directory: process.root + "/store")
            var fetching = configuration
            fetching.originClient = origin
            let store = try await AvatarStore.open(fetching, fileSystem: process, bootID: disk.bootID)
            _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
            process.kill()
            let own = SimulatedProcess(on: disk)
            let reader = try AvatarStore.openForReading(
                .init(directory: own.root + "/store"),
                fileSystem: own,
                bootID: disk.bootID
            )
            let failures = Atomic(0)
            disk.fail { call in
                guard call.name == "syncfs" else { return nil }
                return failures.add(1, ordering: .relaxed).oldValue == 0 ? .fails(EIO) : nil
            }
            await #expect(throws: AvatarStoreError.self) {
                try await reader.backup(to: own.root + "/backup", fileSystem: own)
            }
            disk.fail(nil)
            try reader.closeForReading()
            try await disk.openStore().close()

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try reopened.storedAvatar(for: image.key(at: ScriptedOrigin.url))
            #expect(found == nil || found?.bytes == Image(of: image, version: 1).bytes, "seed \(seed)")
            try await reopened.close()
        }
    }

    /// What is staged by then is published later, and may lack bytes.
    @Test func aFailedBackupOfACleanStoreIsNoted() async throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let store = try await disk.openStore()
        #expect(try store.index.openBoot() == nil)
        disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
        await #expect(throws: AvatarStoreError.self) {
            try await store.backup(to: process.root + "/backup", fileSystem: process)
        }
        disk.fail(nil)

        #expect(try BootRecord.hasFailed(in: store.index))

        try await store.close()
        #expect(try await disk.openStore().index.openBoot() == nil)
    }

    /// A store that only reads closes after one that wrote.
    @Test func theLastProcessClosesTheBootOfAnother() async throws {
        let disk = SimulatedDisk()
        try await disk.openStore().close()
        let reader = try await disk.openStore()
        let writer = try await disk.openStore()
        try await writer.save(Image(of: .own(1), version: 1).bytes, named: "own", in: .caches)
        try await writer.close()
        #expect(try reader.index.openBoot() != nil)

        try await reader.close()

        let next = try await disk.openStore()
        #expect(try next.index.openBoot() == nil)
        try await next.close()
    }

    /// The backup has hard links to files that another process loses bytes of meanwhile.
    @Test func aBackupDuringWhichBytesAreLostIsNotFinished() async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        let disk = SimulatedDisk()
        let store = try await disk.openStore { $0.originClient = origin }
        _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
        let process = SimulatedProcess(on: disk)
        let directory = process.root + "/backup"
        let index = store.index

        let error = await #expect(throws: AvatarStoreError.self) {
            try await store.backup(to: directory, fileSystem: process) { progress in
                guard progress.phase == .copyingFiles, let boot = try? index.openBoot()?.id else { return }
                // As the other process notes it.
                try? index.write { try $0.replaceBoot(by: boot + " failed 1", lastDurableFile: 0) }
            }
        }

        #expect(error?.message.contains("failed during the backup") == true)
        #expect(!process.exists(directory))
        _ = try await store.backup(to: directory, fileSystem: process)
        let backup = try await disk.losePower(.ordered, seed: 1).openStore(at: "/backup")
        let found = try backup.storedAvatar(for: image.key(at: ScriptedOrigin.url))
        #expect(found?.bytes == Image(of: image, version: 1).bytes)
        try await backup.close()
    }

    /// A commit whose synchronization failed is rolled back, and whole in the log: a loss of power may bring it back.
    @Test(arguments: PowerLossModel.allCases)
    func aRolledBackCommitDoesNotComeBackWithoutItsFile(model: PowerLossModel) async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        let images = [1, 2].map { Image(of: .own(1), version: $0).bytes }
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

    /// A checkpoint that could not copy all pages does not synchronize the file; the next one fails to.
    @Test(arguments: PowerLossModel.allCases)
    func allPagesAreCopiedAgainAfterAFailure(model: PowerLossModel) async throws {
        let images = (1...3).map { Image(of: .own($0), version: 1).bytes }
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let configuration = AvatarStore.Configuration(directory: process.root + "/store")
            let store = try await AvatarStore.open(configuration, fileSystem: process, bootID: disk.bootID)
            var keys = [try await store.save(images[0], named: "1")]
            let connections = try (0..<2).map { _ in
                try Connection(
                    path: process.root + "/store/index.sqlite",
                    access: .readWriteExisting,
                    vfs: process.databaseVFS
                )
            }
            try connections[0].execute("BEGIN; SELECT count(*) FROM file")
            keys.append(try await store.save(images[1], named: "2"))
            try connections[1].execute("PRAGMA wal_checkpoint(PASSIVE)")
            try connections[0].execute("COMMIT")
            for connection in connections { try connection.close() }
            disk.fail { $0.name == "fsync" && $0.path.hasSuffix("index.sqlite") ? .fails(EIO) : nil }
            #expect(throws: AvatarStoreError.self) { try store.index.truncateWAL() }
            disk.fail(nil)

            #expect(try store.index.truncateWAL())
            keys.append(try await store.save(images[2], named: "3"))

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            #expect(try keys.map { try reopened.storedAvatar(for: $0)?.bytes } == images, "seed \(seed)")
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }

    /// The rolled-back transaction is whole in the log, which cannot be synchronized, and its process ends.
    ///
    /// - Parameter isCut: whether its frames can be taken out. If not, another transaction takes its place.
    @Test(arguments: [(beginsLog: false, isCut: true), (false, false), (true, true)])
    func aRemovalThatFailedIsNotDoneByTheNextOpening(beginsLog: Bool, isCut: Bool) async throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let configuration = AvatarStore.Configuration(directory: process.root + "/store")
        let store = try await AvatarStore.open(configuration, fileSystem: process, bootID: disk.bootID)
        let image = Image(of: .own(1), version: 1).bytes
        let key = try await store.save(image, named: "own")
        if beginsLog { try store.index.truncateWAL() }
        let synchronizations = Atomic(0)
        let hasFailed = Atomic(false)
        disk.fail { call in
            guard call.path.hasSuffix("index.sqlite-wal") else { return nil }
            // The first write after the failure is to take them out.
            if call.name == "write", !isCut, hasFailed.exchange(false, ordering: .relaxed) { return .fails(EIO) }
            guard call.name == "fsync" else { return nil }
            // The first one of a log is of its header, before the transaction.
            let number = synchronizations.add(1, ordering: .relaxed).oldValue
            if beginsLog, number == 0 { return nil }
            if number == (beginsLog ? 1 : 0) { hasFailed.store(true, ordering: .relaxed) }
            return .fails(EIO)
        }
        await #expect(throws: AvatarStoreError.self) { try await store.remove(key) }
        #expect(try store.storedAvatar(for: key)?.bytes == image)
        process.kill()
        disk.fail(nil)

        let next = try await Self.twice { try await disk.openStore() }

        #expect(try next.storedAvatar(for: key)?.bytes == image)
        #expect(try await next.verify().isSound)
        do { try await next.close() } catch is AvatarStoreError { try await disk.openStore().close() }
    }

    /// The result of `body`, which may fail once: a descriptor of the log is told of the loss.
    private static func twice<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch is AvatarStoreError { return try await body() }
    }

    /// A process could not write the log and was killed. What the next one adds to the log is lost with the part before.
    @Test(arguments: PowerLossModel.allCases)
    func aLogThatADeadProcessCouldNotWriteIsWrittenAgain(model: PowerLossModel) async throws {
        let images = [1, 2].map { Image(of: .own($0), version: 1).bytes }
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let configuration = AvatarStore.Configuration(directory: process.root + "/store")
            let store = try await AvatarStore.open(configuration, fileSystem: process, bootID: disk.bootID)
            disk.fail { call in
                call.name == "fsync" && call.path.hasSuffix("index.sqlite-wal") ? .fails(EIO) : nil
            }
            await #expect(throws: AvatarStoreError.self) { try await store.save(images[0], named: "1") }
            process.kill()
            disk.fail(nil)

            let next = try await Self.twice { try await disk.openStore() }
            let key = try await Self.twice { try await next.save(images[1], named: "2") }

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            #expect(try reopened.storedAvatar(for: key)?.bytes == images[1], "seed \(seed)")
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }

    /// A process could not write the log. What the process beside it adds to the log is lost with the part before.
    @Test(arguments: PowerLossModel.allCases, [false, true])
    func anotherProcessWritesTheLogAgain(model: PowerLossModel, isDead: Bool) async throws {
        let images = [1, 2].map { Image(of: .own($0), version: 1).bytes }
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let configuration = AvatarStore.Configuration(directory: process.root + "/store")
            let store = try await AvatarStore.open(configuration, fileSystem: process, bootID: disk.bootID)
            let other = try await disk.openStore()
            // In the log and not on the disk, before the record that the store has changed.
            try await store.requireWritable().writer.beginSync(at: Timestamp(milliseconds: 1))
            disk.fail { call in
                call.name == "fsync" && call.path.hasSuffix("index.sqlite-wal") ? .fails(EIO) : nil
            }
            await #expect(throws: AvatarStoreError.self) { try await store.save(images[0], named: "1") }
            if isDead { process.kill() }
            disk.fail(nil)

            let key = try await Self.twice { try await other.save(images[1], named: "2") }

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            #expect(try reopened.storedAvatar(for: key)?.bytes == images[1], "seed \(seed)")
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }

    /// The synchronization of the files fails, and the process ends before it can say so.
    @Test(arguments: PowerLossModel.allCases, [false, true])
    func theSynchronizationOfADeadProcessCountsAsFailed(model: PowerLossModel, isBeside: Bool) async throws {
        let image = ImageKey.remote(1)
        let origin = ScriptedOrigin()
        origin.want([1: 1])
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            var configuration = AvatarStore.Configuration(directory: process.root + "/store")
            configuration.originClient = origin
            let store = try await AvatarStore.open(configuration, fileSystem: process, bootID: disk.bootID)
            _ = try await store.avatar(for: image.key(at: ScriptedOrigin.url))
            var next = isBeside ? try await disk.openStore() : nil
            let hasFailed = Atomic(false)
            disk.fail { call in
                if call.name == "syncfs" {
                    hasFailed.store(true, ordering: .relaxed)
                    return .fails(EIO)
                }
                return hasFailed.load(ordering: .relaxed) ? .kills : nil
            }
            _ = try? await store.close()
            disk.fail(nil)

            if next == nil { next = try await Self.twice { try await disk.openStore() } }
            // The log is told of the loss. A process takes all files for durable that knows of no other.
            do { try await next?.close() } catch is AvatarStoreError { try await disk.openStore().close() }

            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try reopened.storedAvatar(for: image.key(at: ScriptedOrigin.url))
            #expect(found?.bytes == Image(of: image, version: 1).bytes, "seed \(seed)")
            try await reopened.close()
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
            #expect(found?.bytes == Image(of: image, version: 1).bytes, "seed \(seed)")
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
