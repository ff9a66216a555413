import AvatarMaintenance
import AvatarStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct AfterACrashExamples {
    @Test func verifyRepairAndBackup() async throws {
        try await Place.with { avatars in
            let configuration = AvatarStore.Configuration(directory: avatars)
            let store = try await AvatarStore.open(configuration)
            let ada = avatars.serve("/ada.png")
            _ = try await store.avatar(for: ada)
            let orphan = avatars.path + "/caches/orphan.png"
            try Data([1]).write(to: URL(filePath: orphan))

            let report = try await AvatarStore.verify(configuration)
            print("\(report.checked) files, \(report.faultCount) faults, \(report.pending) left to finish")

            #expect(report.checked == 1 && report.faults.map(\.kind) == [.orphan] && report.pending == 0)

            let repaired = try await AvatarStore.verify(configuration, repair: true)
            print(repaired.isSound ? "All is well." : "\(repaired.faultCount - repaired.repaired) faults remain.")

            #expect(repaired.isSound && !FileManager.default.fileExists(atPath: orphan))

            let monday = avatars.path + "-monday"
            // If this fails, the files stay in the temporary folder.
            defer { try? FileManager.default.removeItem(atPath: monday) }

            let backup = try await store.backup(to: monday)
            print("\(backup.entries) entries, \(backup.files) files")

            #expect(backup.entries == 1 && backup.files == 1)
            try await store.close()

            let other = try await AvatarStore.open(directory: monday)
            #expect(try other.storedAvatar(for: ada)?.bytes == Place.image("/ada.png"))
            try await other.close()
        }
    }
}
