import AvatarCore
import Testing

@testable import AvatarIndex
import AvatarReports

@Suite(.timeLimit(.minutes(5))) struct CompactingTests {
    /// Leaves unused pages behind.
    private func fillAndEmpty(_ index: AvatarIndex) throws {
        try index.write { transaction in
            for number in 0..<3000 { _ = try transaction.addFile(number, lastAccess: 1) }
        }
        try index.write { transaction in
            for id in 1...3000 { _ = try transaction.retireFile(id: Int64(id), absence: nil, holder: "test") }
        }
        try index.write { transaction in
            for file in try transaction.pendingFiles(of: "test") { try transaction.dropPending(file) }
        }
        try index.truncateWAL()
    }

    @Test("all unused pages go, some at a time, and progress adds up")
    func compacting() throws {
        try withIndex { index in
            try fillAndEmpty(index)
            let before = try index.space()
            var told: [WorkProgress] = []

            try index.compact(freeBytes: { 0 }) { told.append($0) }

            let after = try index.space()
            #expect(before.unusedPages > 0)
            #expect(after.unusedPages == 0)
            #expect(after.bytes == before.bytes - before.unusedBytes)
            #expect(told.map(\.done) == told.map(\.done).sorted())
            #expect(told.last?.done == before.unusedBytes && told.last?.total == before.unusedBytes)
        }
    }

    @Test("an index without auto-vacuum, as from a dump, is rewritten if there is room for that")
    func rewriting() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            try fillAndEmpty(index)
            try index.close()
            try PlainSQL.run("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM", in: path)
            #expect(try PlainSQL.rows("PRAGMA auto_vacuum", in: path) == ["0"])

            let again = try AvatarIndex.open(path: path, fileMode: 0o600)
            try fillAndEmpty(again)
            let bytes = try again.space().bytes
            let code = thrownCode { try again.compact(freeBytes: { 2 * bytes - 1 }) { _ in } }
            #expect(code == .diskFull)
            #expect(try again.space().bytes == bytes)
            try again.compact(freeBytes: { 2 * bytes }) { _ in }
            #expect(try again.space().unusedPages == 0)
            try again.close()

            #expect(try PlainSQL.rows("PRAGMA auto_vacuum", in: path) == ["2"])
            try expectSound(path)
        }
    }

    @Test("a program that was open before an upgrade compacts nothing")
    func upgraded() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            try fillAndEmpty(index)
            let pages = try index.space().unusedPages
            try PlainSQL.run("PRAGMA user_version = 99", in: path)

            #expect(thrownCode { try index.compact(freeBytes: { .max }) { _ in } } == .indexWasUpgraded)
            #expect(try index.space().unusedPages == pages)
            try index.close()
        }
    }
}
