import AvatarCore
import AvatarFoundation
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Logging
import Testing
import Workload

@testable import AvatarWriter

/// Steps of the writer that random programs do not come to: they need many images, a long time, or a disk that fails in one place.
@Suite(.timeLimit(.minutes(5)))
struct RareStepTests {
    private static let slots = 1...6

    /// A store with an image for each of `slots`, on `disk`.
    private static func fill(
        _ disk: SimulatedDisk,
        movingDurablePointEvery distance: Int = .max,
        _ origin: ScriptedOrigin = ScriptedOrigin()
    ) async throws -> AvatarStore {
        origin.want(Dictionary(uniqueKeysWithValues: slots.map { ($0, 1) }))
        let store = try await disk.openStore { $0.originClient = origin }
        try await store.requireWritable().writer.moveDurablePoint(every: distance)
        for slot in slots { _ = try await store.avatar(for: key(slot)) }
        return store
    }

    private static func key(_ slot: Int) throws -> AvatarKey { try ImageKey.remote(slot).key(at: ScriptedOrigin.url) }

    private static func bytes(_ slot: Int) -> [UInt8] { Image(of: .remote(slot), version: 1).bytes }

    // MARK: The durable point

    @Test(arguments: PowerLossModel.allCases)
    func filesUpToTheDurablePointSurvive(model: PowerLossModel) async throws {
        for seed in UInt64(1)...4 {
            let disk = SimulatedDisk()
            let store = try await Self.fill(disk, movingDurablePointEvery: 2)
            try await waitUntil { try store.index.openBoot()?.lastDurableFile ?? 0 >= 2 }
            let point = try #require(try store.index.openBoot()).lastDurableFile

            let reopened = try await disk.losePower(model, seed: seed).openStore()

            for slot in Self.slots {
                let found = try reopened.storedAvatar(for: Self.key(slot))?.bytes
                #expect(found == Self.bytes(slot) || found == nil && slot > point, "slot \(slot), seed \(seed)")
            }
            #expect(try await reopened.verify().isSound)
            try await reopened.close()
        }
    }

    @Test(arguments: PowerLossModel.allCases)
    func durablePointMovesOnceLostBytesAreWrittenAgain(model: PowerLossModel) async throws {
        let disk = SimulatedDisk()
        disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
        let store = try await Self.fill(disk, movingDurablePointEvery: 3)
        try await waitUntil { try store.index.openBoot()?.id.contains("failed") == true }
        #expect(try store.index.openBoot()?.lastDurableFile == 0)
        disk.fail(nil)

        try await store.requireWritable().writer.moveDurablePoint(every: 1)
        try await store.save(Image(of: .own(1), version: 1).bytes, named: "own", in: .caches)
        try await waitUntil { try store.index.openBoot()?.lastDurableFile ?? 0 >= Self.slots.count }

        #expect(try store.index.openBoot()?.id.contains("failed") == true, "the mark stays until the store is closed")
        let reopened = try await disk.losePower(model, seed: 1).openStore()
        for slot in Self.slots { #expect(try reopened.storedAvatar(for: Self.key(slot))?.bytes == Self.bytes(slot)) }
        try await reopened.close()
    }

    // MARK: After a loss of power

    @Test func imagesAreComparedAtEachUseWhereTheComparisonFailed() async throws {
        let disk = SimulatedDisk()
        let before = try await Self.fill(disk)
        try await before.save(Image(of: .own(1), version: 1).bytes, named: "own")
        let after = disk.losePower(.ordered, seed: 3)
        after.fail { $0.name == "open" && $0.path.hasSuffix(".png") ? .fails(EIO) : nil }

        let store = try await after.openStore()

        let own = try AvatarKey(name: "own")
        #expect(throws: AvatarStoreError.self) { try store.storedAvatar(for: own) }
        after.fail(nil)
        #expect(try store.storedAvatar(for: own) != nil)
        for slot in Self.slots {
            let found = try store.storedAvatar(for: Self.key(slot))?.bytes
            #expect(found == nil || found == Self.bytes(slot))
        }
        try await store.close()
        let next = try await after.openStore()
        #expect(try await next.verify().isSound)
        try await next.close()
    }

    @Test(arguments: UInt64(1)...8)
    func aFailureBeforeTheComparisonLeavesItToTheNextOpening(seed: UInt64) async throws {
        let before = SimulatedDisk()
        _ = try await Self.fill(before)
        let after = before.losePower(.ordered, seed: seed)
        after.fail { $0.name == "open" && $0.path.hasSuffix(".png") ? .fails(EIO) : nil }
        let store = try await after.openStore()
        after.fail { $0.name == "fsync" && !$0.path.contains("index.sqlite") ? .fails(EIO) : nil }
        await #expect(throws: AvatarStoreError.self) {
            try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        }
        after.fail(nil)
        #expect(try store.index.openBoot()?.id.contains("failed") == true)
        try await store.close()

        let next = try await after.openStore()

        for slot in Self.slots {
            let found = try next.storedAvatar(for: Self.key(slot))?.bytes
            #expect(found == nil || found == Self.bytes(slot), "slot \(slot)")
        }
        try await next.close()
    }

    // MARK: Successors

    /// Without `keepUnlinked`, the former image of a contact goes once its new one is there.
    @Test(arguments: PowerLossModel.allCases, [true, false])
    func aContactKeepsAnImage(model: PowerLossModel, isFetchedBefore: Bool) async throws {
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let origin = ScriptedOrigin()
            origin.want([1: 1, 2: 1])
            let before = try await disk.openStore { $0.originClient = origin }
            _ = try await before.set(.keepUnlinked, to: 0)
            func contact(_ slot: Int) -> [Contact] {
                [Contact(id: "ada", avatarURL: ImageKey.remote(slot).url(at: ScriptedOrigin.url))]
            }
            _ = try await before.sync(contacts: contact(1))
            try await before.close()
            let store = try await disk.openStore { $0.originClient = origin }
            if isFetchedBefore { _ = try await store.avatar(for: Self.key(2)) }

            _ = try await store.sync(contacts: contact(2))

            #expect(try store.storedAvatar(for: Self.key(1)) == nil)
            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try [1, 2].compactMap { try reopened.storedAvatar(for: Self.key($0)) }
            #expect(!found.isEmpty, "seed \(seed)")
            try await reopened.close()
        }
    }

    /// A restore may be stopped at any call, and be run again.
    @Test(arguments: PowerLossModel.allCases)
    func anInterruptedRestoreCanBeRunAgain(model: PowerLossModel) async throws {
        let disk = SimulatedDisk()
        let store = try await Self.fill(disk)
        let process = SimulatedProcess(on: disk)
        _ = try await store.backup(to: process.root + "/backup", fileSystem: process)
        try await store.close()
        let root = process.root
        let moments = Locked<[DiskImage]>([])
        disk.watch { call, image in
            if ["rename", "unlink", "fsync", "syncfs"].contains(call.name) { moments.withLock { $0.append(image) } }
        }
        func restore(on disk: SimulatedDisk) async throws {
            let process = SimulatedProcess(on: disk, at: root)
            _ = try await AvatarStore.restore(
                from: root + "/backup",
                to: .init(directory: root + "/restored"),
                fileSystem: process
            )
        }
        try await restore(on: disk)
        disk.watch(nil)

        let left = moments.withLock(\.self)
        #expect(left.count > 4)
        for (number, image) in left.enumerated() {
            for seed in UInt64(1)...4 {
                let after = SimulatedDisk(image.afterLossOfPower(model, seed: seed))
                do {
                    try await restore(on: after)
                } catch let error as AvatarStoreError where error.code == .notEmpty {
                    // It was complete.
                }
                let restored = try await after.openStore(at: "/restored")
                for slot in Self.slots {
                    let found = try restored.storedAvatar(for: Self.key(slot))?.bytes
                    #expect(found == Self.bytes(slot), "before call \(number), slot \(slot), seed \(seed)")
                }
                try await restored.close()
            }
        }
    }

    // MARK: A full disk

    @Test func trimmingFreesADiskThatIsFull() async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        let document = Image(of: .own(1), version: 1).bytes
        let kept = try await store.save(document, named: "kept")
        for number in 1...9 {
            let image = SampleImage.png(seed: UInt64(number), byteCount: 100_000)
            try await store.save(image, named: "evicted \(number)", in: .caches)
        }
        disk.setCapacity(disk.image.byteCount(below: "/"))

        let freed = try await store.trim(to: 0)

        // Those that made room for the transaction were deleted before it.
        #expect(freed.files == 9)
        #expect(disk.image.byteCount(below: "/store/caches") == 0)
        #expect(try store.storedAvatar(for: kept)?.bytes == document)
        #expect(try await store.verify().isSound)
        try await store.close()
    }

    @Test func imagesNeedTheRoomThatTheSettingKeepsFree() async throws {
        let disk = SimulatedDisk()
        let store = try await Self.fill(disk)
        try await store.set(.minimumFree, to: 1 << 20)
        let image = Image(of: .own(1), version: 1).bytes
        disk.setCapacity(disk.image.byteCount(below: "/") + 1 << 19)

        let error = await #expect(throws: AvatarStoreError.self) { try await store.save(image, named: "own") }
        #expect(error?.code == .diskFull && error?.message.contains("`min-free` requires 1 MiB") == true)
        disk.setCapacity(1 << 30)
        try await store.save(image, named: "own")
        try await store.close()
    }

    // MARK: Times of use

    @Test func timesThatCouldNotBeWrittenAreWrittenLater() async throws {
        let disk = SimulatedDisk()
        let store = try await Self.fill(disk)
        let writer = try store.requireWritable().writer
        _ = try store.storedAvatar(for: Self.key(1))
        #expect(await writer.accesses.gatheredTime(ofFile: 1) != nil)

        disk.fail { $0.name == "write" ? .fails(EIO) : nil }
        await writer.flushAccesses(reportingTo: Logger(label: "test"))
        disk.fail(nil)
        #expect(await writer.accesses.gatheredTime(ofFile: 1) != nil)
        await writer.flushAccesses(reportingTo: Logger(label: "test"))

        #expect(await writer.accesses.gatheredTime(ofFile: 1) == nil)
        try await store.close()
    }
}

extension RareStepTests {
    @Test func timesOfManyImagesAreWrittenTogether() async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        let count = 1_001
        let writer = try store.requireWritable().writer
        for number in 1...count {
            let image = SampleImage.png(seed: UInt64(number), byteCount: 200)
            try await store.save(image, named: "\(number)", in: .caches)
        }
        for number in 1...count { _ = try store.storedAvatar(for: AvatarKey(name: "\(number)")) }
        #expect(await writer.accesses.bufferedCount == count)

        await writer.flushAccesses(reportingTo: Logger(label: "test"))

        #expect(await writer.accesses.bufferedCount == 0)
        try await store.close()
    }

    @Test func aSyncThatCouldNotRunIsNoted() async throws {
        let store = try await Self.fill(SimulatedDisk())
        try await store.recordFailedSync()
        #expect(try store.lastSync()?.outcome == .failed)
        try await store.close()
    }

    // MARK: Files that cannot be deleted

    @Test func filesOfADeadProcessAreDeletedOnceTheDiskAllowsIt() async throws {
        let disk = SimulatedDisk()
        let first = try await Self.fill(disk)
        disk.fail { $0.name == "unlink" && $0.path.hasSuffix(".png") ? .kills : nil }
        await #expect(throws: AvatarStoreError.self) { try await first.trim(to: 0) }
        let left = disk.image.byteCount(below: "/store/caches")
        #expect(left > 0)
        disk.fail { $0.name == "unlink" && $0.path.hasSuffix(".png") ? .fails(EIO) : nil }

        let second = try await disk.openStore()
        for slot in Self.slots { #expect(try second.storedAvatar(for: Self.key(slot)) == nil) }
        #expect(disk.image.byteCount(below: "/store/caches") == left)
        await #expect(throws: AvatarStoreError.self) { try await second.trim(to: 0) }
        disk.fail(nil)
        try await second.trim(to: 0)

        #expect(disk.image.byteCount(below: "/store/caches") == 0)
        #expect(try await second.verify().isSound)
        try await second.close()
    }

    @Test func aSaveSucceedsThoughTheFormerFilesCannotBeDeleted() async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        let images = [1, 2, 3].map { Image(of: .own(1), version: $0).bytes }
        let key = try await store.save(images[0], named: "own", in: .caches)
        disk.fail { $0.name == "unlink" && $0.path.hasSuffix(".png") ? .fails(EIO) : nil }
        do { try await store.save(images[1], named: "own", in: .caches) } catch is AvatarStoreError {}
        do { try await store.save(images[2], named: "other", in: .caches) } catch is AvatarStoreError {}
        #expect(try store.storedAvatar(for: key)?.bytes == images[1])
        disk.fail(nil)

        try await store.save(images[2], named: "other", in: .caches)

        #expect(try await store.verify().isSound)
        let bytes = Set([images[1], images[2]]).reduce(0) { $0 + $1.count }
        #expect(disk.image.byteCount(below: "/store/caches") == bytes)
        try await store.close()
    }
}

extension StoreWriter {
    func moveDurablePoint(every distance: Int) { longestDistance = distance }
}
