import AvatarCore
import AvatarSQLite
import Foundation
import Testing

@testable import AvatarIndex

/// Runs `body` with the path of an empty directory that is gone afterwards.
func withTemporaryDirectory<Value>(_ body: (String) throws -> Value) throws -> Value {
    let directory = FileManager.default.temporaryDirectory.appending(path: "avatars-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let result = Result { try body(directory.path) }
    try FileManager.default.removeItem(at: directory)
    return try result.get()
}

/// Runs `body` with a new index, closes it, and looks whether it is sound.
func withIndex(_ body: (AvatarIndex) throws -> Void) throws {
    try withTemporaryDirectory { directory in
        let index = try AvatarIndex.open(path: directory + "/index.sqlite", fileMode: 0o600)
        try body(index)
        try index.close()
        try expectSound(index.path)
    }
}

/// Expects what holds for every index between two transactions.
func expectSound(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try Connection.using(path) { database in
        #expect(try database.lines("PRAGMA integrity_check") == ["ok"], sourceLocation: sourceLocation)
        #expect(try database.lines("PRAGMA foreign_key_check") == [], sourceLocation: sourceLocation)
        let totals = try database.lines(PlainSQL.totals)
        #expect(try database.lines(PlainSQL.recountedTotals) == totals, sourceLocation: sourceLocation)
    }
}

/// The code that `body` throws; `nil`, with an issue recorded, if it throws none.
func thrownCode(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> AvatarStoreError.Code? {
    do {
        try body()
        Issue.record("Nothing was thrown.", sourceLocation: sourceLocation)
    } catch let error as AvatarStoreError {
        return error.code
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
    return nil
}

/// Runs `body` with the newest golden index, which has a row of every kind, and looks whether it is sound after that.
func withGoldenIndex(_ body: (AvatarIndex) throws -> Void) throws {
    try withTemporaryDirectory { directory in
        let path = directory + "/index.sqlite"
        try GoldenIndex(version: Migration.latestVersion).load(into: path)
        let index = try AvatarIndex.open(path: path, fileMode: 0o600)
        try body(index)
        try index.close()
        try expectSound(path)
    }
}
