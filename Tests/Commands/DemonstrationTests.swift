import AvatarContacts
import AvatarStore
import Foundation
import Synchronization
import Testing

@testable import avatars

@Suite(.timeLimit(.minutes(5)))
struct DemonstrationTests {
    @Test func everyClaimHoldsAndTheStoreAndItsListRemain() async throws {
        try await withTemporaryFolder { folder in
            let text = try await demoText(keep: folder + "/new/store")

            #expect(!text.contains("✗"))
            #expect(text.contains("\n12 of 12 claims held."))
            for line in text.split(separator: "\n") where !line.contains(folder) {
                #expect(line.count <= 80, "\(line)")
            }
            #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count < 75)
            try await expectStore(in: folder + "/new/store")
        }
    }

    private func expectStore(in directory: String) async throws {
        let list = try ContactList.open(file: directory + "/contacts.json")
        #expect(try list.validate() == 1000)
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.access = .readOnly
        let store = try await AvatarStore.open(configuration)
        let statistics = try store.statistics()
        #expect(statistics.budgetBytes == 2_000_000)
        #expect(statistics.cachesBytes > 900_000 && statistics.cachesBytes <= 1_000_000)
        #expect(statistics.states[.own] == 1)
        #expect(statistics.pendingBytes == 0)
        let preview = try await store.syncPreview(list)
        #expect(preview.contacts == 1000)
        #expect(preview.fresh > 200 && preview.toFetch + preview.skipped > 500)
        try await store.close()
    }

    @Test func nonEmptyFolderIsRefusedAndStaysUnchanged() async throws {
        try await withTemporaryFolder { folder in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/file"))

            await #expect { try await demoText(keep: folder) } throws: { error in
                (error as? AvatarStoreError)?.code == .unusableRoot && "\(error)".contains("\(folder)\" is not empty")
            }
            await #expect { try await demoText(keep: folder + "/file") } throws: { error in
                (error as? AvatarStoreError)?.code == .unusableRoot && "\(error)".contains("/file\" is a file")
            }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder) == ["file"])
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/file")) == Data("mine".utf8))
        }
    }

    private func demoText(keep directory: String) async throws -> String {
        let text = Mutex("")
        let page = DemoPage(isTerminal: false, usesColour: false) { piece in text.withLock { $0 += piece.safe } }
        // Longer than the command's timeout: other tests keep the machine busy.
        try await Demonstration.run(keep: directory, on: page, timeout: .seconds(10))
        return text.withLock { $0 }
    }

    private func withTemporaryFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(atPath: folder)
            } catch {
                Issue.record(error)
            }
        }
        try await body(folder)
    }
}
