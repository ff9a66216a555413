import AvatarCore
import AvatarSQLite
import Foundation
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct TransactionTests {
    private struct Stop: Error {}

    @Test(arguments: [AvatarIndex.Durability.process, .power])
    func anErrorUndoesTheWholeTransaction(durability: AvatarIndex.Durability) throws {
        try withIndex { index in
            try index.write { _ = try $0.add("https://example.com/kept.png") }

            #expect(throws: Stop.self) {
                try index.write(durability) { transaction in
                    let file = try transaction.addFile(1)
                    try transaction.add("https://example.com/undone.png", file: file)
                    try transaction.addPending(.sample(2))
                    throw Stop()
                }
            }

            #expect(try index.statistics().entries == 1)
            #expect(try index.total(of: .caches) == ClassTotal(files: 0, bytes: 0, pendingBytes: 0))
        }
    }

    @Test func anErrorOfTheDatabaseUndoesTheWholeTransaction() throws {
        try withIndex { index in
            let code = thrownCode {
                try index.write { transaction in
                    try transaction.add("https://example.com/a.png")
                    try transaction.add("https://example.com/a.png")
                }
            }

            #expect(code == .storage)
            let statistics = try index.statistics()
            #expect(statistics.entries == 0)
        }
    }

    @Test(arguments: [true, false])
    func anIndexThatWasMovedAwayIsNotWritten(isReplaced: Bool) throws {
        try withIndex { index in
            try index.write { _ = try $0.add("https://example.com/kept.png") }
            let moved = index.path + ".moved"
            try FileManager.default.moveItem(atPath: index.path, toPath: moved)
            if isReplaced { try FileManager.default.copyItem(atPath: moved, toPath: index.path) }

            let code = thrownCode { try index.write { _ = try $0.add("https://example.com/lost.png") } }

            #expect(code == .indexWasReplaced)
            if isReplaced { try FileManager.default.removeItem(atPath: index.path) }
            try FileManager.default.moveItem(atPath: moved, toPath: index.path)
            try index.write { _ = try $0.add("https://example.com/found.png") }
            #expect(try index.statistics().entries == 2)
        }
    }

    @Test func aPipeInThePlaceOfTheIndexIsRefused() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            try #require(mkfifo(path, 0o600) == 0)

            #expect(thrownCode { _ = try AvatarIndex.open(path: path, fileMode: 0o600) } == .foreignIndex)
            #expect(thrownCode { _ = try AvatarIndex.check(path) } == .foreignIndex)
            #expect(thrownCode { _ = try AvatarIndex.openReadOnly(path: path, isImmutable: false) } == .foreignIndex)
        }
    }

    @Test func theIndexCanBeWrittenAfterAnError() throws {
        try withIndex { index in
            #expect(throws: Stop.self) { try index.write(.power) { _ in throw Stop() } }

            try index.write { _ = try $0.add("https://example.com/a.png") }

            #expect(try index.statistics().entries == 1)
        }
    }

    /// 1 is NORMAL, 2 is FULL (https://www.sqlite.org/pragma.html#pragma_synchronous).
    @Test func onlyWhatMustSurviveAPowerLossIsSynchronised() throws {
        try withIndex { index in
            let level = { (transaction: IndexTransaction) in
                try transaction.integer("PRAGMA synchronous")
            }

            let levels = try [AvatarIndex.Durability.process, .power, .process].map { try index.write($0, level) }
            #expect(throws: Stop.self) { try index.write(.power) { _ in throw Stop() } }

            #expect(levels == [1, 2, 1])
            #expect(try index.write(.process, level) == 1)
        }
    }

    @Test func aLockHeldElsewhereIsReportedAsBusy() throws {
        try withIndex { index in
            // The wait limit of this connection is cut down: the usual one would hold the test up.
            try index.write { try $0.run(KeepsHits("PRAGMA busy_timeout = 1")) }
            var hasRun = false

            let other = try Connection(path: index.path, access: .readWrite)
            try other.transaction { _ in
                #expect(thrownCode { try index.write { _ in hasRun = true } } == .busy)
            }

            #expect(!hasRun)
            try index.write { _ = try $0.add("https://example.com/a.png") }
            #expect(try index.statistics().entries == 1)
        }
    }

    @Test func aReadDoesNotWaitForAWriter() throws {
        try withIndex { index in
            try index.write { transaction in
                try transaction.add("https://example.com/a.png")

                // Another connection: what is not committed is not there.
                #expect(try index.statistics().entries == 0)
            }
            #expect(try index.statistics().entries == 1)
        }
    }

    @Test func theWALStaysShort() throws {
        try withIndex { index in
            let url = "https://example.com/" + String(repeating: "a", count: 8000)
            for number in 0..<800 { try index.write { _ = try $0.add(url + "\(number).png") } }

            // 1,000 pages of 4 KiB, and what one more transaction adds; all of it would be more than 12 MB.
            #expect(try FileState.size(of: index.path + "-wal") ?? .max < 6_000_000)
        }
    }

    @Test func theWALIsEmptiedOnDemand() throws {
        try withIndex { index in
            try index.write { _ = try $0.add("https://example.com/a.png") }
            let wal = index.path + "-wal"
            #expect(try FileState.size(of: wal) ?? 0 > 0)

            #expect(try index.truncateWAL())

            #expect(try FileState.size(of: wal) == 0)
        }
    }
}
