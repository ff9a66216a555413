import AvatarFoundation
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The upgrade of an index from each version in the field, with a loss of power at any of its calls.
@Suite(.timeLimit(.minutes(10)))
struct UpgradeSimulationTests {
    private static let golden = URL(filePath: #filePath).appending(path: "../../AvatarIndexTests/Golden").standardized
    /// The number of moments per upgrade.
    private static let most = TestMode.isThorough ? 200 : 4

    @Test("an upgrade that loses power goes on with all entries and contacts", arguments: 1...23)
    func upgradeGoesOn(version: Int) async throws {
        try await withTaskExecutorPreference(ThreadExecutor("upgrade")) { try await upgrade(from: version) }
    }

    private func upgrade(from version: Int) async throws {
        let seed = TestMode.seed
        let older = try olderStore(version)
        let expected = try await rows(on: SimulatedDisk(older))
        #expect(expected.entries > 0 && expected.owners > 0)

        let disk = SimulatedDisk(older)
        let moments = Moments(Self.most)
        disk.watch { call, image in moments.note(call.number, image) }
        _ = try await rows(on: disk)
        for (call, image) in moments.kept {
            for model in PowerLossModel.allCases {
                let after = SimulatedDisk(image.afterLossOfPower(model, seed: seed &+ UInt64(call)))
                let found = try await rows(on: after)
                #expect(found == expected, "AVATARS_SEED=\(seed), \(model), power lost before call \(call)")
            }
        }
    }

    /// A disk with the index of an older version, on stable storage.
    private func olderStore(_ version: Int) throws -> DiskImage {
        let disk = SimulatedDisk()
        disk.put([], at: "/store/none")
        let process = SimulatedProcess(on: disk)
        let connection = try Connection(
            path: process.root + "/store/index.sqlite",
            access: .readWrite,
            vfs: process.databaseVFS
        )
        try connection.execute(
            try String(contentsOf: Self.golden.appending(path: "v\(version).sql"), encoding: .utf8)
        )
        try connection.close()
        let top = try process.open(process.root, flags: O_RDONLY | O_DIRECTORY)
        #expect(process.syncfs(top) == 0)
        return disk.image.afterLossOfPower(.strict, seed: 0)
    }

    private struct Rows: Equatable {
        var entries: Int64
        var owners: Int64
    }

    /// Opens the store, which upgrades its index, and counts the rows that must stay.
    private func rows(on disk: SimulatedDisk) async throws -> Rows {
        try await disk.openStore().close()
        let process = SimulatedProcess(on: disk)
        let connection = try Connection(
            path: process.root + "/store/index.sqlite",
            access: .readWriteExisting,
            vfs: process.databaseVFS
        )
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
        return Rows(
            entries: try connection.integer("SELECT count(*) FROM avatar") ?? 0,
            owners: try connection.integer("SELECT count(*) FROM owner") ?? 0
        )
    }
}

/// Copies of a disk at calls that are spread over all of its calls.
private final class Moments: Sendable {
    private let all = Locked<[(Int, DiskImage)]>([])
    private let most: Int

    init(_ most: Int) {
        self.most = most
    }

    func note(_ call: Int, _ image: DiskImage) {
        all.withLock { $0.append((call, image)) }
    }

    var kept: [(Int, DiskImage)] {
        all.withLock { all in
            stride(from: 0, to: all.count, by: max(1, all.count / most)).map { all[$0] }
        }
    }
}
