import Foundation
import ProgramRunning
import Testing

/// Inspections of a store from outside, while no process uses it.
extension Workplace {
    /// Absolute paths of the files by key, as the store lists them.
    func listedFiles(store: String = "store") async throws -> [String: String] {
        let list = try await run("list", "--store", store, "--json")
        try list.requireSuccess()
        var files: [String: String] = [:]
        for item in try list.objects {
            if let key = item.text("key"), let file = item.text("localFile") { files[key] = file }
        }
        return files
    }

    /// Fails unless index and disk agree: by the program's own verification, and by comparing its list and totals with
    /// the files on disk.
    func expectConsistent(
        store: String = "store",
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let verification = try await run("verify", "--store", store, "--json")
        #expect(verification.text.contains("\"pending\":0"), comment, sourceLocation: sourceLocation)
        #expect(
            verification.status == 0,
            "\(verification.text)\(verification.messages)",
            sourceLocation: sourceLocation
        )
        let listed = Set(try await listedFiles(store: store).values)
        let statistics = try await run("stats", "--store", store, "--json").object
        for (root, field) in [("caches", "cachesBytes"), ("documents", "documentsBytes")] {
            let walk = try #require(FolderWalk(path(store) + "/" + root), sourceLocation: sourceLocation)
            let found = Set(walk.files.keys.map { path(store) + "/" + root + "/" + $0 })
            let named = listed.filter { $0.hasPrefix(path(store) + "/" + root + "/") }
            #expect(found == named, comment, sourceLocation: sourceLocation)
            #expect(statistics.number(field) == walk.bytes, comment, sourceLocation: sourceLocation)
        }
        #expect(statistics.number("pendingBytes") == 0, comment, sourceLocation: sourceLocation)
    }
}
