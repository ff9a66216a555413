import AvatarMigrations
import Foundation
import Testing

@Suite struct MigrationListTests {
    @Test func listAndFolderAgree() throws {
        let folder = URL(filePath: #filePath).appending(path: "../../../../Migrations").standardized
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "sql" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }

        #expect(Migration.all.map { $0.name + ".sql" } == files.map(\.lastPathComponent))
        for (migration, file) in zip(Migration.all, files) {
            #expect(try migration.sql == String(contentsOf: file, encoding: .utf8), "\(migration.name)")
        }
    }

    @Test func versionsAreTheNumbersOfTheFilesFromOneOn() {
        #expect(!Migration.all.isEmpty)
        #expect(Migration.latestVersion == Migration.all.count)
        for (index, migration) in Migration.all.enumerated() {
            #expect(migration.version == index + 1)
            let number = String(migration.version)
            let prefix = String(repeating: "0", count: 4 - number.count) + number + "_"
            #expect(migration.name.hasPrefix(prefix))
        }
    }

    /// Each golden file holds the text of its migrations as they landed.
    @Test(arguments: 1...Migration.latestVersion)
    func aLandedMigrationIsNeverEdited(version: Int) throws {
        let golden = try GoldenIndex(version: version)

        for migration in Migration.all.prefix(version) {
            #expect(golden.sql.contains(migration.sql), "\(migration.name) is not what it was when it landed.")
        }
    }
}
