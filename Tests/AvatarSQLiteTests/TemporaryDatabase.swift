import Foundation
import Testing

@testable import AvatarSQLite

/// Runs `body` with a path for a database in an empty directory, which is gone afterwards.
func withTemporaryPath(_ body: (String) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "avatar-sqlite-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try body(directory.path + "/test.sqlite")
}

/// The result code of the error that `body` throws; `nil`, with an issue recorded, if it throws none.
func thrownCode(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> SQLiteError.Code? {
    do {
        try body()
        Issue.record("Nothing was thrown.", sourceLocation: sourceLocation)
    } catch let error as SQLiteError {
        return error.code
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
    return nil
}
