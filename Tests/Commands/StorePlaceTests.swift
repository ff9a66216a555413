import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct StorePlaceTests {
    private static let image = SampleImage.identicon(for: "place")

    private func workplace() throws -> Workplace {
        let workplace = try Workplace()
        try workplace.write("me.png", Self.image)
        return workplace
    }

    @Test func relativeStoreStartsAtTheWorkingDirectory() async throws {
        let workplace = try workplace()

        let run = try await workplace.run("save", "me.png", "--name", "me", "--store", "./here//now", "--json")

        let file = try #require(try run.object.text("localFile"))
        #expect(file.hasPrefix(workplace.path("here/now/documents/")))
        #expect(workplace.exists("here/now/index.sqlite"))
    }

    @Test func storeOptionRulesOverTheEnvironment() async throws {
        let workplace = try workplace()

        _ = try await workplace.run("save", "me.png", "--name", "a", "--store", "one")
        _ = try await workplace.run("save", "me.png", "--name", "b", environment: ["AVATARS_STORE": "two"])

        #expect(try workplace.names == ["me.png", "one", "two"])
    }

    #if os(Linux)
    @Test func defaultPlacesAreThoseOfXDG() async throws {
        let workplace = try workplace()
        let environment = ["AVATARS_STORE": "", "XDG_DATA_HOME": workplace.path("data"), "XDG_CACHE_HOME": "relative"]

        let run = try await workplace.run("save", "me.png", "--name", "me", environment: environment)

        #expect(run.status == 0)
        #expect(workplace.exists("data/avatars/index.sqlite"))
        #expect(workplace.exists("data/avatars/documents"))
        // A relative path in the variable is ignored; the home directory is the workplace.
        #expect(workplace.exists(".cache/avatars/caches"))
    }
    #endif

    @Test(arguments: [
        ["list"], ["show", "name:x"], ["path", "name:x"], ["stats"], ["config"], ["migrate", "--status"],
        ["migrate", "--dry-run"], ["trim", "--dry-run"], ["remove", "--all", "--dry-run"],
        ["move", "name:x", "--to", "caches", "--dry-run"], ["sync", "--dry-run"], ["backup", "copy"],
        ["verify"],
    ])
    func readOnlyCommandsDoNotMakeAStore(arguments: [String]) async throws {
        let workplace = try Workplace()

        let run = try await workplace.start(arguments).end()

        #expect(run.status == 2)
        #expect(run.text.isEmpty)
        #expect(run.messages.hasPrefix("avatars: There is no store at "))
        #expect(try workplace.names.isEmpty)
    }

    @Test func storeThatIsAFileIsRefused() async throws {
        let workplace = try workplace()

        let writing = try await workplace.run("save", "me.png", "--name", "me", "--store", "me.png")
        let reading = try await workplace.run("list", "--store", "me.png")

        #expect(writing.status == 2)
        #expect(reading.status == 2)
        #expect(try workplace.read("me.png") == Self.image)
    }

    @Test func demoRefusesAFileBeforeItPrintsAnything() async throws {
        let workplace = try workplace()

        let run = try await workplace.run("demo", "--keep", "me.png")

        #expect(run.status == 2)
        #expect(run.text.isEmpty)
        #expect(try workplace.read("me.png") == Self.image)
    }

    @Test(arguments: [["save", "me.png", "--name", "me"], ["list"], ["migrate"], ["stats"]])
    func foreignDatabaseIsRefusedAndNotChanged(arguments: [String]) async throws {
        let workplace = try workplace()
        let database = try #require(ForeignDatabase.bytes)
        try FileManager.default.createDirectory(atPath: workplace.path("store"), withIntermediateDirectories: true)
        try workplace.write("store/index.sqlite", database)

        let run = try await workplace.start(arguments).end()

        #expect(run.status == 2)
        #expect(try workplace.read("store/index.sqlite") == database)
    }

    @Test func newerIndexIsRefusedAndNotChanged() async throws {
        let workplace = try workplace()
        _ = try await workplace.run("save", "me.png", "--name", "me")
        var database = try workplace.read("store/index.sqlite")
        // PRAGMA user_version, a big-endian number at offset 60 of the header.
        database.replaceSubrange(60..<64, with: [0, 0, 0x7F, 0])
        try workplace.write("store/index.sqlite", database)

        for arguments in [["list"], ["migrate"], ["trim"]] {
            let run = try await workplace.start(arguments).end()
            #expect(run.status == 2)
            #expect(run.messages.contains("newer version"))
        }
        #expect(try workplace.read("store/index.sqlite") == database)
    }

    @Test func damagedIndexIsReported() async throws {
        let workplace = try workplace()
        try FileManager.default.createDirectory(atPath: workplace.path("store"), withIntermediateDirectories: true)
        try workplace.write("store/index.sqlite", Array("This is no database. ".utf8) + Self.image)

        let run = try await workplace.run("list")

        #expect(run.status == 2)
        #expect(run.messages.hasPrefix("avatars: "))
    }

    @Test func readOnlyCommandsChangeNoByte() async throws {
        let workplace = try workplace()
        _ = try await workplace.run("save", "me.png", "--name", "me")
        let before = try workplace.read("store/index.sqlite")
        let date = try modified(workplace.path("store/index.sqlite"))

        for arguments in [
            ["list"], ["show", "name:me"], ["path", "name:me"], ["stats"], ["config"], ["migrate", "--status"],
            ["trim", "--dry-run"], ["remove", "--all", "--dry-run"], ["sync", "--dry-run"],
            ["move", "name:me", "--to", "caches", "--dry-run"], ["verify"], ["verify", "--repair", "--dry-run"],
        ] {
            let run = try await workplace.start(arguments).end()
            #expect(run.status == 0)
        }

        #expect(try workplace.read("store/index.sqlite") == before)
        #expect(try modified(workplace.path("store/index.sqlite")) == date)
    }

    @Test func readOnlyStoreGivesWhatIsStoredAndRefusesChanges() async throws {
        let workplace = try workplace()
        _ = try await workplace.run("save", "me.png", "--name", "me")
        try await workplace.shell("chmod -R a+rX store && chmod -R a-w store && chmod a+rx . ..").requireSuccess()

        let got = try await workplace.runUnprivileged(["get", "name:me"])
        let missing = try await workplace.runUnprivileged(["fetch", "http://example.com/a", "--json"])
        let listed = try await workplace.runUnprivileged(["list", "--json"])
        let refused = try await workplace.runUnprivileged(["remove", "name:me"])
        try await workplace.shell("chmod -R u+w store").requireSuccess()

        #expect(got.status == 0)
        #expect(got.bytes == Self.image)
        #expect(got.messages.hasPrefix("avatars: warning: "))
        #expect(missing.status == 1)
        #expect(try missing.object.text("kind") == "offline")
        #expect(listed.status == 0)
        #expect(listed.lines.count == 1)
        #expect(refused.status == 2)
    }

    private func modified(_ path: String) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
}
