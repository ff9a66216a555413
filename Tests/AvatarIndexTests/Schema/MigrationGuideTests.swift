import AvatarFileSystem
import AvatarSQLite
import Foundation
import ProgramRunning
import Testing

@testable import AvatarIndex

/// Follows "How to add a migration" in CONTRIBUTING.md, in a copy of the folders that it is about.
@Suite(.timeLimit(.minutes(5))) struct MigrationGuideTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    private static let shell = "/usr/bin/sqlite3"
    private static let golden = "Tests/AvatarIndexTests/Golden"

    @Test func theGuideHasFiveSteps() throws {
        let numbers = try guide().split(separator: "\n").compactMap { line in
            line.firstIndex(of: ".").flatMap { Int(line[..<$0]) }
        }
        #expect(numbers == [1, 2, 3, 4, 5])
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: shell), "needs sqlite3: apt-get install sqlite3"))
    func whoFollowsTheGuideGetsAMigration() async throws {
        let workplace = try Workplace()
        let directory = workplace.path
        let version = Migration.latestVersion + 1
        let folder = URL(filePath: directory)
        try FileManager.default.createDirectory(
            at: folder.appending(path: "Tests/AvatarIndexTests"),
            withIntermediateDirectories: true
        )
        for name in ["Migrations", Self.golden] {
            try FileManager.default.copyItem(at: Self.root.appending(path: name), to: folder.appending(path: name))
        }

        // Steps 1 and 2.
        let name = String("000\(version)".suffix(4)) + "_what_it_does"
        let sql = try example()
        try sql.write(to: folder.appending(path: "Migrations/\(name).sql"), atomically: true, encoding: .utf8)
        let steps = Migration.all + [Migration(version: version, name: name, sql: sql)]

        // Step 3.
        let script = folder.appending(path: Self.golden + "/make-golden").path
        try await workplace.run(tool: script, []).requireSuccess()
        let frozen = folder.appending(path: Self.golden + "/v\(version).sql")
        let sums = try String(contentsOf: folder.appending(path: "Migrations/SHA256SUMS"), encoding: .utf8)
        #expect(sums.hasSuffix("  \(name).sql\n"))

        // Step 4, as far as it is about this step.
        let fresh = directory + "/fresh.sqlite"
        try upgrade(fresh, steps)
        let schema = try PlainSQL.rows(PlainSQL.schema, in: fresh)
        for older in 1..<version {
            let path = directory + "/v\(older).sqlite"
            try GoldenIndex(version: older).load(into: path)
            try upgrade(path, steps)
            #expect(try PlainSQL.rows(PlainSQL.schema, in: path) == schema, "version \(older)")
            try expectSound(path)
        }
        let path = directory + "/golden.sqlite"
        try PlainSQL.run(String(contentsOf: frozen, encoding: .utf8), in: path)
        #expect(try PlainSQL.rows(PlainSQL.schema, in: path) == schema)
        try expectSound(path)
    }

    private func guide() throws -> String {
        let text = try String(contentsOf: Self.root.appending(path: "CONTRIBUTING.md"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## How to add a migration\n").last)
        return section.components(separatedBy: "\n## ")[0]
    }

    /// The SQL of the guide's first step.
    private func example() throws -> String {
        let parts = try guide().components(separatedBy: "```")
        let block = try #require(parts.count == 3 ? parts[1] : nil)
        return block.split(separator: "\n").dropFirst().map { $0.drop { $0 == " " } + "\n" }.joined()
    }

    private func upgrade(_ path: String, _ steps: [Migration]) throws {
        try Connection.using(path) { connection in
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            try SchemaUpgrade(
                copy: UpgradeCopy(path: path, fileSystem: LocalFileSystem(), fileMode: 0o600),
                steps: steps
            ).run(on: connection)
        }
    }
}
