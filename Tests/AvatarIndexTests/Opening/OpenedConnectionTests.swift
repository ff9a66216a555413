import AvatarCore
import AvatarSQLite
import Dispatch
import Foundation
import Testing

@testable import AvatarIndex

/// The connections of an open index: each is opened when it is first needed, and reads the schema for itself.
@Suite(.timeLimit(.minutes(5))) struct OpenedConnectionTests {
    private static let key = AvatarKey.stored("https://img.example.com/anna.png")

    @Test func openingOpensOneConnection() throws {
        try withClosedIndex { path in
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            #expect(index.readers.openCount == 1)
            #expect(!index.hasWriteConnection)

            #expect(try index.hit(for: Self.key) != nil)
            #expect(try index.statistics().entries == 1)
            #expect(index.readers.openCount == 1)
            #expect(!index.hasWriteConnection)

            try index.write { _ = try $0.add("https://img.example.com/berta.png") }
            #expect(index.readers.openCount == 1)
            #expect(index.hasWriteConnection)
            #expect(try index.statistics().entries == 2)
            try index.close()
            try expectSound(path)
        }
    }

    @Test func theConnectionThatCheckedTheFileReads() throws {
        try withClosedIndex { path in
            let checked = try #require(try AvatarIndex.check(path))
            let index = try AvatarIndex.open(path: path, checked: checked, fileMode: 0o600)

            let isSame = try index.readers.read { $0 === checked.reader }
            #expect(isSame)
            try index.close()
        }
    }

    @Test func aSecondConnectionIsOpenedForASecondReaderAtOnce() throws {
        try withClosedIndex { path in
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            try index.readers.read { _ in
                let other = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    let entries = try? index.statistics().entries
                    #expect(entries == 1)
                    other.signal()
                }
                #expect(other.wait(timeout: .now() + 20) == .success)
            }

            #expect(index.readers.openCount == 2)
            try index.close()
        }
    }

    @Test func aNewIndexIsWrittenAtOnce() throws {
        try withIndex { #expect($0.hasWriteConnection) }
    }

    /// An index without a log gets one before it is used.
    @Test func anIndexWithoutALogIsChangedAtOnce() throws {
        try withClosedIndex { path in
            try PlainSQL.run("PRAGMA journal_mode = DELETE", in: path)
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)

            #expect(index.hasWriteConnection)
            #expect(try index.statistics().entries == 1)
            let mode = try index.readers.read { try $0.text("PRAGMA journal_mode") }
            #expect(mode == "wal")
            try index.close()
        }
    }

    #if os(Linux)
    @Test(arguments: [false, true])
    func closingClosesAllDescriptors(hasWritten: Bool) throws {
        try withClosedIndex { path in
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            if hasWritten { try index.write { _ = try $0.add("https://img.example.com/berta.png") } }
            #expect(try openFiles(below: path).contains(path))

            try index.close()

            #expect(try openFiles(below: path) == [])
        }
    }

    /// A check whose index is not opened leaves nothing open.
    @Test func aCheckIsClosedWithItsLastReference() throws {
        try withClosedIndex { path in
            _ = try AvatarIndex.check(path)
            #expect(try openFiles(below: path) == [])
        }
    }

    /// The files that this process has open whose paths begin with `path`.
    private func openFiles(below path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            // The descriptor that lists the folder is closed by now.
            .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
            .filter { $0.hasPrefix(path) }
    }
    #endif

    // MARK: The first write

    /// A later connection would open another file than the readers have.
    @Test(arguments: [false, true])
    func anIndexReplacedBeforeTheFirstWriteIsNotWritten(isRemoved: Bool) throws {
        try withClosedIndex { path in
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.moveItem(atPath: path + suffix, toPath: path + "-old" + suffix)
            }
            if !isRemoved { try AvatarIndex.open(path: path, fileMode: 0o600).close() }

            let code = thrownCode { try index.write { _ = try $0.add("https://img.example.com/b.png") } }
            #expect(code == .indexWasReplaced)

            try index.close()
            #expect(FileManager.default.fileExists(atPath: path) == !isRemoved)
            if !isRemoved { #expect(try PlainSQL.rows("SELECT count(*) FROM avatar", in: path) == ["0"]) }
        }
    }

    @Test func anIndexReplacedAfterItsCheckIsCheckedAgain() throws {
        try withClosedIndex { path in
            let checked = try AvatarIndex.check(path)
            for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            try PlainSQL.run("CREATE TABLE note (text)", in: path)

            let code = thrownCode { _ = try AvatarIndex.open(path: path, checked: checked, fileMode: 0o600) }
            #expect(code == .foreignIndex)
        }
    }

    @Test func aClosedIndexIsNotWritten() throws {
        try withClosedIndex { path in
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            try index.close()
            try index.close()

            #expect(thrownCode { try index.write { _ = try $0.add("https://img.example.com/b.png") } } == .storage)
            #expect(!index.hasWriteConnection)
        }
    }

    /// A killed process leaves its log. A process that only reads still moves it into the file.
    @Test func theLogOfADeadProcessIsEmptied() throws {
        try withClosedIndex { path in
            let copy = path + "-copy"
            let live = try AvatarIndex.open(path: path, fileMode: 0o600)
            try live.write { _ = try $0.add("https://img.example.com/berta.png") }
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            try live.close()
            try #require(try FileState.size(of: copy + "-wal") ?? 0 > 0)

            let index = try AvatarIndex.open(path: copy, fileMode: 0o600)
            #expect(!index.hasWriteConnection)
            #expect(try index.truncateWAL())
            #expect(try FileState.size(of: copy + "-wal") == 0)
            #expect(try index.statistics().entries == 2)

            // There is nothing to do for another one.
            let second = try AvatarIndex.open(path: copy, fileMode: 0o600)
            #expect(try second.truncateWAL())
            #expect(!second.hasWriteConnection)
            try second.close()
            try index.close()
        }
    }

    /// Runs `body` with the path of a closed index with one image.
    private func withClosedIndex(_ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/index.sqlite"
            let index = try AvatarIndex.open(path: path, fileMode: 0o600)
            try index.write { _ = try $0.add(Self.key.rawValue, file: $0.addFile(1)) }
            try index.close()
            try body(path)
        }
    }
}
