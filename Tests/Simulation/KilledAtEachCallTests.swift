import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing
import Workload

/// Work that is rare is killed before each call that changes the disk, one after another, and done again by another process.
@Suite(.timeLimit(.minutes(15)))
struct KilledAtEachCallTests {
    @Test("making a store, killed at any call, leaves nothing beside the index")
    func making() async throws {
        try await killAtEachCall(of: DiskImage()) { process in
            try await AvatarStore.open(Self.configuration(process), fileSystem: process, bootID: process.disk.bootID)
                .close()
        }
    }

    /// A killed process may have made a folder and not its name durable, and the next one finds it.
    @Test("a document is durable although the making of its store was killed at any call")
    func savingBesideWhatWasMade() async throws {
        try await killAtEachCall(of: DiskImage()) { process in
            let store = try await AvatarStore.open(
                Self.configuration(process),
                fileSystem: process,
                bootID: process.disk.bootID
            )
            let image = Image(of: .own(1), version: 1).bytes
            let key = try await store.save(image, named: "own")
            for seed in UInt64(1)...3 {
                let left = SimulatedDisk(process.disk.image.afterLossOfPower(.strict, seed: seed))
                let after = try await left.openStore()
                #expect(try after.storedAvatar(for: key)?.bytes == image)
                try await after.close()
            }
            try await store.close()
        }
    }

    @Test("rebuilding a lost index, killed at any call, leaves nothing beside the index")
    func rebuilding() async throws {
        let disk = SimulatedDisk()
        let store = try await disk.openStore()
        try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        try await store.close()
        let other = SimulatedProcess(on: disk)
        for name in ["", "-wal", "-shm"] { other.unlinkat(0, other.root + "/store/index.sqlite" + name, 0) }
        try await killAtEachCall(of: disk.image) { process in
            let report = try await AvatarStore.verify(
                Self.configuration(process),
                fileSystem: process,
                bootID: process.disk.bootID,
                repair: true
            )
            #expect(report.isSound)
        }
    }

    private static func configuration(_ process: SimulatedProcess) -> StoreConfiguration {
        StoreConfiguration(directory: process.root + "/store")
    }

    /// Does `work` on copies of `image`: kills it before its first call that changes the disk, before its second one, and so on until
    /// it is done without.
    private func killAtEachCall(of image: DiskImage, _ work: (SimulatedProcess) async throws -> Void) async throws {
        var count = 0
        var isDone = false
        while !isDone {
            count += 1
            let disk = SimulatedDisk(image)
            let left = Countdown(count)
            disk.watch { _, _ in left.count() }
            disk.fail { _ in left.isOver ? .kills : nil }
            let killed = SimulatedProcess(on: disk)
            do {
                try await work(killed)
            } catch is AvatarStoreError where !killed.isAlive {
                // Its calls fail.
            }
            isDone = killed.isAlive
            disk.watch(nil)
            disk.fail(nil)
            let next = SimulatedProcess(on: disk)
            try await work(next)
            #expect(Simulation.strays(next).isEmpty, "killed before change \(count)")
        }
        #expect(count > 20, "there was nothing to kill")
    }
}

/// Counts calls down to one at which something happens.
private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func count() { left.subtract(1, ordering: .relaxed) }

    var isOver: Bool { left.load(ordering: .relaxed) <= 0 }
}
