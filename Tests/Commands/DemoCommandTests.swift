import AvatarContacts
import AvatarMaintenance
import AvatarStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DemoCommandTests {
    @Test func everyClaimHoldsAndTheSuggestedCommandsWork() async throws {
        try await withTemporaryFolder { folder in
            let demo = try await run("\(Program.executable.path) demo --keep kept --open", in: folder)

            #expect(demo.status == 0)
            #expect(demo.errors == "")
            #expect(demo.output.contains("\n12 of 12 claims held."))
            #expect(!demo.output.contains("✗") && !demo.output.contains("\u{1B}") && !demo.output.contains("\r"))
            let lines = demo.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines.count < 80 && lines.allSatisfy { $0.count <= 80 || $0.contains("/") })
            try await expectStore(in: folder + "/kept")

            let gallery = "\(folder)/kept-gallery/index.html"
            // The output is a file, so no browser is started.
            #expect(demo.output.hasSuffix("\nThe contacts and their images, for a browser: \(gallery)\n"))
            let page = try String(contentsOfFile: gallery, encoding: .utf8)
            #expect(page.contains("1000 contacts, as of "))

            let start = try #require(lines.firstIndex { $0.hasPrefix("   export AVATARS_STORE=\(folder)/kept") })
            let suggested = lines[start...].prefix { $0.hasPrefix("   ") }
            #expect(suggested.count == 5)
            let commands = try await run(suggested.joined(separator: " &&\n"), in: folder)
            #expect(commands.status == 0)
            #expect(commands.errors.split(separator: "\n").allSatisfy { $0.contains("there may be more") })
            #expect(commands.output.contains("/photos/"))
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
        let preview = try await store.syncPreview(.records(list))
        #expect(preview.contacts == 1000)
        #expect(preview.fresh > 200 && preview.toFetch + preview.skipped > 500)
        try await store.close()
    }

    @Test func withoutKeepNothingIsLeft() async throws {
        try await withTemporaryFolder { folder in
            let demo = try await run("\(Program.executable.path) demo", in: folder)

            #expect(demo.status == 0)
            #expect(demo.output.hasSuffix(" demo --keep DIR\n"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["kept"])
        }
    }

    @Test func nonEmptyFolderIsExit2AndStaysUnchanged() async throws {
        try await withTemporaryFolder { folder in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: folder + "/kept/file", isDirectory: false))

            let demo = try await run("\(Program.executable.path) demo --keep kept", in: folder)

            #expect(demo.status == 2)
            #expect(demo.output == "")
            #expect(demo.errors.contains("\(folder)/kept\" is not empty"))
            #expect(try FileManager.default.subpathsOfDirectory(atPath: folder + "/kept") == ["file"])
        }
    }

    @Test func galleryFolderMustBeEmpty() async throws {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(
                atPath: folder + "/kept-gallery/other",
                withIntermediateDirectories: true
            )

            let demo = try await run("\(Program.executable.path) demo --keep kept --open", in: folder)

            #expect(demo.status == 2 && demo.output == "")
            #expect(demo.errors.contains("\(folder)/kept-gallery\" is not empty"))
        }
    }

    // MARK: Running

    private struct Ending {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs a shell command with `folder` as its current and its temporary folder.
    private func run(_ line: String, in folder: String) async throws -> Ending {
        let environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder]) { $1 }
        let script = "cd \"$1\"; \(line)"
        let run = try await Workplace().run(tool: "/bin/sh", ["-c", script, "sh", folder], environment: environment)
        return Ending(status: run.status, output: run.text, errors: run.messages)
    }

    private func withTemporaryFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder + "/kept", withIntermediateDirectories: true)
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
