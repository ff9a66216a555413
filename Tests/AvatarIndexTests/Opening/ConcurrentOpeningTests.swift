import AvatarCore
import Foundation
import Synchronization
import Testing

@testable import AvatarIndex

@Suite(.timeLimit(.minutes(5))) struct ConcurrentOpeningTests {
    @Test(arguments: 0..<20)
    func aNewIndexIsOpenedByManyAtOnce(round: Int) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let outcome = Mutex<(opened: [AvatarIndex], errors: [any Error])>(([], []))

            DispatchQueue.concurrentPerform(iterations: 8) { number in
                do {
                    let index = try AvatarIndex.open(path: path, fileMode: 0o600)
                    try index.write { _ = try $0.add("https://example.com/\(number).png") }
                    outcome.withLock { $0.opened.append(index) }
                } catch {
                    outcome.withLock { $0.errors.append(error) }
                }
            }

            let (opened, errors) = outcome.withLock { $0 }
            #expect(errors.map(String.init(describing:)) == [])
            for index in opened {
                #expect(try index.statistics().entries == 8)
                #expect(try index.statistics().schemaVersion == Migration.latestVersion)
                try index.close()
            }
            try expectSound(path)
        }
    }

    /// Opening writes nothing, so it need not wait for another process's batch.
    @Test func anIndexIsOpenedWhileAnotherProgramWrites() throws {
        try withIndex { first in
            try first.write { transaction in
                let second = try AvatarIndex.open(path: first.path, fileMode: 0o600)
                #expect(try second.statistics().entries == 0)
                try second.close()
                try transaction.add("https://example.com/a.png")
            }
        }
    }

    @Test func twoOpenIndexesSeeEachOthersCommits() throws {
        try withIndex { first in
            let second = try AvatarIndex.open(path: first.path, fileMode: 0o600)
            let key = AvatarKey.stored("https://example.com/a.png")
            #expect(try second.entry(for: key) == nil)

            try first.write { _ = try $0.add(key.rawValue) }
            #expect(try second.entry(for: key) != nil)

            try second.write { _ = try $0.add("https://example.com/b.png") }
            #expect(try first.statistics().entries == 2)
            try second.close()
        }
    }

    @Test func nothingIsWrittenWithOldSQLOnceAnotherProgramUpgradedTheIndex() throws {
        try withTemporaryDirectory { directory in
            let index = try AvatarIndex.open(path: directory + "/index.sqlite", fileMode: 0o600)
            try index.write { _ = try $0.add("https://example.com/before.png") }
            try PlainSQL.run("PRAGMA user_version = \(Migration.latestVersion + 1)", in: index.path)

            var hasRun = false
            for durability in [AvatarIndex.Durability.process, .power] {
                let code = thrownCode {
                    try index.write(durability) { transaction in
                        hasRun = true
                        try transaction.add("https://example.com/after.png")
                    }
                }
                #expect(code == .indexWasUpgraded)
            }

            #expect(!hasRun)
            #expect(try PlainSQL.rows("SELECT key FROM avatar", in: index.path) == ["https://example.com/before.png"])
            try index.close()
        }
    }
}
