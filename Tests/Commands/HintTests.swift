import AvatarStoreTesting
import Foundation
import Testing

/// Error messages advise options that the command has, and give the true reason.
@Suite(.timeLimit(.minutes(5))) struct HintTests {
    @Test func demoErrorNamesKeepInsteadOfStore() async throws {
        let workplace = try Workplace()
        try FileManager.default.createDirectory(atPath: workplace.path("www"), withIntermediateDirectories: false)
        try workplace.write("www/index.html", "here already")

        let run = try await workplace.run("demo", "--keep", "www")

        #expect(run.status == 2)
        #expect(run.messages.contains("www\" is not empty"))
        #expect(run.messages.contains("--keep"))
        #expect(!run.messages.contains("--store"))
    }

    @Test func restoreWithoutABackupNamesBackupInsteadOfSync() async throws {
        let run = try await Workplace().run("restore", "nodir")

        #expect(run.status == 2)
        #expect(run.messages.contains("There is no backup in "))
        #expect(run.messages.contains("`avatars backup`"))
        #expect(!run.messages.contains("avatars sync"))
    }

    @Test func sinceBeyondTheEndOfTheFeedStartsOver() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()

        let run = try await workplace.run("changes", "--since", "99", "--json")

        #expect(run.status == 1)
        #expect(try run.object.flag("startOver") == true)
        #expect(run.messages.contains("beyond the last change of this store, 1"))
        #expect(!run.messages.contains("known any more"))
    }

    @Test func missingHeaderFileAndOneThatIsNotUTF8HaveTheirOwnMessages() async throws {
        let workplace = try Workplace()
        try workplace.write("latin.txt", [0xE9, 0x0A])

        let missing = try await workplace.run("sync", "--header-file", "nofile")
        let latin = try await workplace.run("sync", "--header-file", "latin.txt")

        #expect(missing.status == 2 && latin.status == 2)
        #expect(missing.messages == "avatars: Cannot read the header file \"nofile\": No such file or directory.\n")
        #expect(latin.messages.contains("The header file \"latin.txt\" must be UTF-8 text"))
    }

    @Test func privateAddressesAreOneErrorThatNamesTheOption() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(12))

            let run = try await workplace.run("sync", "list.txt")

            #expect(run.status == 1)
            let messages = run.messages.split(separator: "\n")
            #expect(messages.count == 1)
            #expect(messages.first?.hasPrefix("avatars: forbiddenAddress: 12 images, the first: http://") == true)
            #expect(messages.first?.hasSuffix(" `avatars config allow-private-network true`.") == true)
            #expect(origin.requestCount == 0)
        }
    }

    // MARK: Mistyped commands

    @Test(arguments: [
        (["synk"], "sync"), (["snyc", "people.json"], "sync"), (["lst"], "list"), (["Stats"], "stats"),
        (["help", "verfy"], "verify"),
    ])
    func mistypedCommandNamesTheNearest(arguments: [String], nearest: String) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(arguments).end()

        #expect(run.status == 64)
        #expect(run.text.isEmpty)
        #expect(run.messages.contains("Did you mean `avatars \(nearest)`?"))
    }

    @Test(arguments: [["frobnicate"], ["help", "nothing"], ["help", "sync", "list"], ["x"]])
    func commandThatDoesNotExistIsAUsageError(arguments: [String]) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(arguments).end()

        #expect(run.status == 64)
        #expect(run.text.isEmpty)
        #expect(run.messages.contains("There is no command "))
        #expect(!run.messages.contains("Did you mean"))
    }

    @Test(arguments: [["help"], ["help", "sync"], ["help", "--help"], ["help", "help"]])
    func helpOfAnExistingCommandIsPrinted(arguments: [String]) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(arguments).end()

        #expect(run.status == 0)
        #expect(run.text.contains("USAGE: avatars"))
    }

    @Test func mistypedOptionNamesTheNearest() async throws {
        let run = try await Workplace().run("list", "--jsn")

        #expect(run.status == 64)
        #expect(run.messages.contains("Did you mean '--json'?"))
    }
}
