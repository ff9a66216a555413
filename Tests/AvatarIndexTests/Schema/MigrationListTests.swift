import AvatarDigest
import AvatarIndex
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct MigrationListTests {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../../Migrations").standardized

    @Test func listAndFolderAgree() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
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

    @Test func theChecksumsAreThoseThatWereRecorded() throws {
        let recorded = try String(contentsOf: Self.folder.appending(path: "SHA256SUMS"), encoding: .utf8)

        let lines = Migration.all.map { migration in
            let digest = SHA256.hash(migration.sql.utf8).map { byte in
                String(repeating: "0", count: byte < 16 ? 1 : 0) + String(byte, radix: 16)
            }
            return "\(digest.joined())  \(migration.name).sql\n"
        }

        #expect(recorded == lines.joined())
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
