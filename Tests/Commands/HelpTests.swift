import Testing

@Suite struct HelpTests {
    private static let commands = [
        "sync", "fetch", "get", "path", "save", "list", "show", "remove", "move", "trim", "stats", "config", "migrate",
        "backup", "restore", "demo",
    ]

    @Test func helpNamesEveryCommand() async throws {
        let run = try await Workplace().run("--help")

        #expect(run.status == 0)
        #expect(run.messages.isEmpty)
        for command in Self.commands { #expect(run.text.contains("  \(command) ")) }
    }

    @Test(arguments: commands)
    func helpOfACommandHasAnExampleAndFitsTheTerminal(command: String) async throws {
        let run = try await Workplace().run(command, "--help")

        #expect(run.status == 0)
        #expect(run.text.contains("Example: avatars \(command)"))
        #expect(run.lines.allSatisfy { $0.count <= 80 })
    }

    @Test func versionIsPrinted() async throws {
        let run = try await Workplace().run("--version")

        #expect(run.status == 0)
        #expect(run.text == "0.1.0\n")
    }

    @Test(arguments: [
        ["bogus"], ["list", "--bogus"], ["fetch"], ["get"], ["path"], ["show"], ["save", "x.png"], ["move", "name:x"],
        ["list", "--class", "attic"], ["list", "--state", "happy"], ["list", "--limit", "0"], ["list", "--store", ""],
        ["sync", "--policy", "maybe"], ["sync", "--class", "transient"], ["sync", "-"], ["sync", "--limit", "-1"],
        ["sync", "-", "-", "--format", "text"], ["sync", "--connections", "0"], ["sync", "--per-host", "0"],
        ["sync", "--timeout", "0"], ["sync", "--user-agent", "two\nlines"], ["remove"], ["remove", "--all", "name:x"],
        ["remove", "--owner", "1", "--host", "h"], ["backup"], ["restore"], ["backup", ""], ["restore", "a", "b"],
    ])
    func misuseIsAUsageErrorAndMakesNothing(arguments: [String]) async throws {
        let workplace = try Workplace()

        let run = try await workplace.start(arguments).end()

        #expect(run.status == 64)
        #expect(run.text.isEmpty)
        #expect(run.messages.contains("Error: "))
        #expect(try workplace.names.isEmpty)
    }

    @Test(arguments: ["12XB", "64 MB", "MB", "1.5GB", "9223372036854775807GB", "64mb", ""])
    func badByteAmountsAreUsageErrorsThatSayWhatIsPossible(amount: String) async throws {
        let run = try await Workplace().run("trim", "--budget", amount)

        #expect(run.status == 64)
        #expect(run.messages.contains("64MiB") || run.messages.contains("more than this program can count"))
    }
}
