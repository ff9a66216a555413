import AvatarFiles
import AvatarMaintenance
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

/// Long work reports its progress, and can be cancelled at each report.
@Suite(.timeLimit(.minutes(5))) struct InterruptedWorkTests {
    /// A store with 12 images in `caches`.
    private func withStore(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            for number in 0..<12 {
                let bytes = SampleImage.png(seed: UInt64(number), byteCount: 1000)
                try await fixture.store.save(bytes, named: "\(number)", in: .caches)
            }
            try await body(fixture)
        }
    }

    /// Cancels the task that reports `phase` once `count` items are done.
    private static func cancelling(_ phase: WorkProgress.Phase, at count: Int) -> ProgressHandler {
        { progress in
            guard progress.phase == phase, progress.done >= count else { return }
            withUnsafeCurrentTask { $0?.cancel() }
        }
    }

    @Test("the second of two exports to one folder changes nothing")
    func exportsToOneFolder() async throws {
        try await withStore { fixture in
            try await BackupPlace.with { place in
                let first = try #require(try ImageFolder(writing: place.path("out"), fileMode: 0o600))
                try first.lock()
                try first.write([1], to: "ada.png", mode: 0o600)

                await #expect { _ = try await fixture.store.exportImages(to: place.path("out")) } throws: {
                    ($0 as? AvatarStoreError)?.code == .busy
                }

                #expect(try first.names() == ["ada.png"])
            }
        }
    }

    @Test("a cancelled trim has evicted whole batches, and the next continues")
    func trim() async throws {
        try await withStore { fixture in
            let store = fixture.store
            // The first batch would take all; a task cancelled before it evicts nothing.
            let none = try await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await store.trim(to: 0)
            }.value
            #expect(none == EvictionReport())
            let told = Mutex<[WorkProgress]>([])
            let all = try await store.trim(to: 0) { progress in told.withLock { $0.append(progress) } }
            #expect(all == EvictionReport(files: 12, bytes: 12_000))
            #expect(told.withLock { $0.map(\.done) } == [0, 12_000])
            #expect(told.withLock { $0.allSatisfy { $0.phase == .evicting && $0.total == 12_000 } })
        }
    }

    @Test("a cancelled verification changes nothing")
    func verify() async throws {
        try await withStore { fixture in
            await #expect(throws: CancellationError.self) {
                try await Task {
                    try await fixture.store.verify(progress: Self.cancelling(.comparingFiles, at: 5))
                }.value
            }
            let report = try await fixture.store.verify()
            #expect(report.isSound)
        }
    }

    @Test("progress of a verification counts each file and each folder once")
    func verificationProgress() async throws {
        try await withStore { fixture in
            let told = Mutex<[WorkProgress]>([])
            _ = try await fixture.store.verify { progress in told.withLock { $0.append(progress) } }

            let all = told.withLock { $0 }
            #expect(all.filter { $0.phase == .comparingFiles }.map(\.done) == Array(1...12))
            #expect(all.filter { $0.phase == .comparingFiles }.allSatisfy { $0.total == 12 && $0.failed == 0 })
            #expect(all.filter { $0.phase == .seekingOrphans }.map(\.done) == Array(1...512))
        }
    }

    @Test("a cancelled backup, restore and export leave nothing", arguments: [1, 7, 12])
    func copies(count: Int) async throws {
        try await withStore { fixture in
            try await BackupPlace.with { place in
                await #expect(throws: CancellationError.self) {
                    let progress = Self.cancelling(.copyingFiles, at: count)
                    _ = try await Task { try await fixture.store.backup(to: place.backup, progress: progress) }.value
                }
                await #expect(throws: CancellationError.self) {
                    let progress = Self.cancelling(.exporting, at: count)
                    let out = place.path("out")
                    _ = try await Task { try await fixture.store.exportImages(to: out, progress: progress) }.value
                    // The last image is written by then, so nothing is left to cancel.
                    if count == 12 { throw CancellationError() }
                }
                let left = try BackupPlace.names(in: place.path).filter { $0 != "out" }
                #expect(left == [])
                if count < 12 { #expect(try BackupPlace.names(in: place.path("out")) == []) }

                _ = try await fixture.store.backup(to: place.backup)
                await #expect(throws: CancellationError.self) {
                    let configuration = AvatarStore.Configuration(directory: place.path("restored"))
                    let progress = Self.cancelling(.copyingFiles, at: count)
                    _ = try await Task {
                        try await AvatarStore.restore(from: place.backup, to: configuration, progress: progress)
                    }.value
                }
                #expect(!FileManager.default.fileExists(atPath: place.path("restored")))
            }
        }
    }

    @Test("a cancelled import continues where it stopped")
    func imports() async throws {
        try await withStore { fixture in
            try await BackupPlace.with { place in
                let folder = place.path("pictures")
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                for number in 0..<6 {
                    let bytes = SampleImage.png(seed: UInt64(100 + number), byteCount: 500)
                    try Data(bytes).write(to: URL(filePath: "\(folder)/own \(number).png"))
                }
                await #expect(throws: CancellationError.self) {
                    let progress = Self.cancelling(.importing, at: 2)
                    _ = try await Task { try await fixture.store.importImages(from: folder, progress: progress) }
                        .value
                }

                let report = try await fixture.store.importImages(from: folder)

                #expect(report.unchanged == 2 && report.stored == 4 && report.failed == 0)
            }
        }
    }

    @Test("a cancelled migration has done whole steps")
    func migrations() async throws {
        try await BackupPlace.with { place in
            let configuration = AvatarStore.Configuration(directory: place.path("store"))
            let golden = URL(filePath: #filePath).appending(path: "../../../AvatarIndexTests/Golden/v1.sql")
            try FileManager.default.createDirectory(atPath: place.path("store"), withIntermediateDirectories: false)
            try Connection(path: place.path("store") + "/index.sqlite", access: .readWrite)
                .execute(String(contentsOf: golden.standardized, encoding: .utf8))
            let progress = Self.cancelling(.migrating, at: 2)
            await #expect(throws: CancellationError.self) {
                _ = try await Task { try await AvatarStore.migrate(configuration, progress: progress) }.value
            }
            let half = try AvatarStore.migrationStatus(configuration.layout)
            #expect(half.schemaVersion == 3 && half.applied.count == 3)

            let status = try await AvatarStore.migrate(configuration)
            #expect(status.pending.isEmpty)
        }
    }
}
