import AvatarStoreTesting
import Foundation
import Testing

@testable import avatars

/// Which commands make a store, and how they treat a folder that holds other files.
@Suite(.timeLimit(.minutes(5))) struct StorePresenceTests {
    /// Commands that make a store if it does not exist.
    private static let making: [[String]] = [
        ["sync", "list.txt"], ["fetch", "http://127.0.0.1:1/a.png"], ["get", "http://127.0.0.1:1/a.png"],
        ["save", "me.png", "--name", "me"], ["import", "pictures"], ["restore", "backup"],
        ["config", "budget", "1MB"], ["config", "budget", "default"], ["migrate"],
    ]

    /// Commands that need a store.
    private static let needing: [[String]] = [
        ["verify"], ["verify", "--repair"], ["verify", "--repair", "--dry-run"], ["remove", "--all"],
        ["remove", "name:x", "--erase"], ["remove", "--owner", "3", "--erase"], ["remove", "--host", "h"],
        ["remove", "--all", "--dry-run"], ["trim"], ["trim", "--budget", "0"], ["trim", "--dry-run"], ["compact"],
        ["compact", "--dry-run"], ["move", "name:x", "--to", "documents"],
        ["move", "name:x", "--to", "documents", "--dry-run"], ["list"], ["show", "name:x"], ["contacts"],
        ["path", "name:x"],
        ["stats"], ["stats", "--format", "prometheus"], ["changes"], ["config"], ["config", "budget"],
        ["config", "budget", "1MB", "--dry-run"], ["migrate", "--status"], ["migrate", "--dry-run"],
        ["shared"], ["shared", "--ignored"], ["sources"], ["ignore", String(repeating: "0", count: 64)],
        ["ignore", String(repeating: "0", count: 64), "--dry-run"],
        ["backup", "copy"], ["export", "copy"], ["sync", "--dry-run"],
    ]

    /// Commands without `--store`; `serve`, which runs until it is stopped (`ServeCommandTests`); and `doctor`, which also
    /// reports a missing store (`DoctorCommandTests`).
    private static let others: Set<String> = ["demo", "help", "serve", "doctor"]

    /// A workplace with the files that the commands read.
    private func workplace() async throws -> Workplace {
        let workplace = try Workplace()
        try workplace.write("list.txt", "http://127.0.0.1:1/a.png\n")
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try make("pictures", in: workplace)
        try workplace.write("pictures/me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("migrate", "--store", "original").requireSuccess()
        try await workplace.run("backup", "backup", "--store", "original").requireSuccess()
        return workplace
    }

    private func make(_ folder: String, in workplace: Workplace) throws {
        try FileManager.default.createDirectory(atPath: workplace.path(folder), withIntermediateDirectories: true)
    }

    /// Every path below the workplace.
    private func tree(_ workplace: Workplace) throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: workplace.path))
    }

    @Test func eachCommandIsInOneOfTheTables() {
        let known = Set((Self.making + Self.needing).map { $0[0] }).union(Self.others)
        let commands = Avatars.configuration.subcommands.compactMap { $0.configuration.commandName }
        #expect(!commands.isEmpty)
        #expect(Set(commands).subtracting(known).isEmpty)
    }

    @Test("the dry run of a list needs no store and makes none", arguments: ["missing", "empty", "foreign"])
    func dryRunOfAList(place: String) async throws {
        let workplace = try await workplace()
        if place != "missing" { try make("store", in: workplace) }
        if place == "foreign" { try workplace.write("store/notes.txt", "mine") }
        let before = try tree(workplace)

        let run = try await workplace.run("sync", "list.txt", "--dry-run", "--allow-private-network")

        #expect(run.status == (place == "foreign" ? 2 : 0), "\(run.messages)")
        #expect(try tree(workplace) == before)
    }

    @Test("a command that needs a store makes none", arguments: ["missing", "empty", "foreign", "zeroBytes"])
    func needsAStore(place: String) async throws {
        let workplace = try await workplace()
        if place != "missing" { try make("store", in: workplace) }
        if place == "foreign" { try workplace.write("store/notes.txt", "mine") }
        if place == "zeroBytes" { try workplace.write("store/index.sqlite", "") }
        let before = try tree(workplace)

        for arguments in Self.needing where place != "zeroBytes" || arguments[0] == "trim" && arguments.count == 1 {
            let run = try await workplace.start(arguments).end()

            #expect(run.status == 2, "\(arguments)")
            #expect(run.text.isEmpty, "\(arguments)")
            #expect(run.messages.hasPrefix("avatars: There is no store at "), "\(arguments): \(run.messages)")
            #expect(try tree(workplace) == before, "\(arguments)")
        }
    }

    @Test(
        "a command that brings something in makes a store",
        arguments: StorePresenceTests.making,
        ["missing", "empty"]
    )
    func makesAStore(arguments: [String], place: String) async throws {
        let workplace = try await workplace()
        if place == "empty" { try make("store", in: workplace) }

        _ = try await workplace.start(arguments).end()

        #expect(workplace.exists("store/index.sqlite"))
        #expect(try await workplace.run("verify").status == 0)
    }

    @Test("no command mixes a store into a folder of other files", arguments: ["notes.txt", "documents/letter.txt"])
    func isNotMixed(file: String) async throws {
        let workplace = try await workplace()
        try make("store/documents", in: workplace)
        if file == "notes.txt" { try FileManager.default.removeItem(atPath: workplace.path("store/documents")) }
        try workplace.write("store/" + file, "mine")
        let before = try tree(workplace)

        for arguments in Self.making + [["verify", "--repair"], ["trim"]] {
            let run = try await workplace.start(arguments).end()

            #expect(run.status == 2, "\(arguments)")
            #expect(try tree(workplace) == before, "\(arguments)")
            #expect(!run.messages.isEmpty, "\(arguments)")
        }
        let run = try await workplace.run("save", "me.png", "--name", "me")
        #expect(run.messages.contains((file as NSString).lastPathComponent), "\(run.messages)")
        #expect(try workplace.read("store/" + file) == Array("mine".utf8))
    }

    @Test("the parts of a store and a new disk's own folder are not foreign")
    func partsOfAStore() async throws {
        let workplace = try await workplace()
        for folder in ["caches", "documents", "staging", "lost+found"] { try make("store/" + folder, in: workplace) }

        #expect(try await workplace.run("save", "me.png", "--name", "me").status == 0)
    }

    @Test("an unknown contact is exit code 1", arguments: [[], ["--erase"], ["--dry-run"]])
    func unknownContact(options: [String]) async throws {
        let workplace = try await workplace()
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()

        let run = try await workplace.start(["remove", "--owner", "3"] + options).end()

        #expect(run.status == 1)
        #expect(run.messages == "avatars: The store has no contact \"3\".\n")
        #expect(!run.text.contains("erased the traces"))
    }

    @Test("documents without index and staging folder are listed again by a repair")
    func documentsAlone() async throws {
        let workplace = try await workplace()
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        for name in ["index.sqlite", "staging"] {
            try FileManager.default.removeItem(atPath: workplace.path("store/" + name))
        }

        let repaired = try await workplace.run("verify", "--repair", "--json")

        #expect(repaired.status == 1)
        #expect(try await workplace.run("get", "name:me").bytes == SampleImage.identicon(for: "me"))
    }
}
