import ArgumentParser
import AvatarStoreTesting
import Foundation
import Testing

@testable import avatars

@Suite(.timeLimit(.minutes(5))) struct HelpTests {
    /// The completion script, made once.
    private static let bashScript = Task { try await Workplace().run("--generate-completion-script", "bash").bytes }
    private static let commands = Avatars.configuration.subcommands.compactMap { $0.configuration.commandName }

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

    @Test("the example of each command is one that works", arguments: commands)
    func example(command: String) throws {
        let discussion = try #require(Self.discussion(of: command))
        let example = try #require(discussion.split(separator: "Example: avatars ").last?.split(separator: "\n").first)

        let parsed = try Avatars.parseAsRoot(example.split(separator: " ").map(String.init))

        // The dynamic type, because the static type is the protocol's.
        let type = ObjectIdentifier(type(of: parsed as Any))
        let isOfCommand = Avatars.configuration.subcommands.contains { found in
            ObjectIdentifier(found) == type && found.configuration.commandName == command
        }
        #expect(isOfCommand)
    }

    private static func discussion(of name: String) -> String? {
        for command in Avatars.configuration.subcommands where command.configuration.commandName == name {
            return command.configuration.discussion
        }
        return nil
    }

    // MARK: Shells

    /// The scripts are checked only by shells that are installed.
    @Test(arguments: [
        ("bash", "complete -o filenames -F _avatars"), ("zsh", "#compdef avatars"), ("fish", "complete -c 'avatars'"),
    ])
    func completionsAreGenerated(shell: String, mark: String) async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("--generate-completion-script", shell)

        #expect(run.status == 0)
        #expect(run.messages.isEmpty)
        #expect(run.text.contains(mark), "\(run.text.prefix(200))")
        for command in Self.commands { #expect(run.text.contains(command)) }
        try workplace.write("script", run.bytes)
        let check = shell == "fish" ? "fish --no-execute" : "\(shell) -n"
        let checked = try await workplace.shell("command -v \(shell) >/dev/null || exit 0; \(check) script")
        #expect(checked.status == 0, "\(checked.messages)")
    }

    @Test func bashCompletesCommandsAndOptions() async throws {
        let workplace = try Workplace()
        try workplace.write("script", try await Self.bashScript.value)
        try workplace.write(
            "complete.bash",
            """
            source ./script
            COMP_WORDS=(avatars "$@"); COMP_CWORD=$#; COMP_LINE="avatars $*"; COMP_POINT=${#COMP_LINE}
            _avatars avatars "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        )

        let commands = try await workplace.start(tool: "/bin/bash", ["complete.bash", "st"]).end()
        let options = try await workplace.start(tool: "/bin/bash", ["complete.bash", "list", "--so"]).end()
        let values = try await workplace.start(tool: "/bin/bash", ["complete.bash", "list", "--sort", ""]).end()

        #expect(commands.lines.map { $0.trimmingCharacters(in: .whitespaces) } == ["stats"])
        #expect(options.lines.map { $0.trimmingCharacters(in: .whitespaces) } == ["--sort"])
        #expect(
            values.lines.map { $0.trimmingCharacters(in: .whitespaces) } == [
                "key", "size", "last-access", "next-check",
            ]
        )
    }

    @Test(arguments: [
        (["sync", "pe"], ["people.json"]), (["sync", "--header-file", "pe"], ["people.json"]),
        (["save", "pe"], ["people.json"]), (["get", "x", "--output", "pe"], ["people.json"]),
        (["sync", "--ca-file", "pe"], ["people.json"]), (["list", "--store", "p"], ["pictures"]),
        (["import", "p"], ["pictures"]), (["export", "p"], ["pictures"]), (["backup", "p"], ["pictures"]),
        (["restore", "p"], ["pictures"]), (["demo", "--keep", "p"], ["pictures"]),
        (["config", "max-p"], ["max-pixels"]), (["config", "budget", "def"], ["default"]),
        (["sync", "--policy", "re"], ["revalidate", "reload"]), (["sync", "--class", ""], ["caches", "documents"]),
        (["move", "x", "--to", "d"], ["documents"]), (["list", "--state", "f"], ["fresh", "failing"]),
        (["sync", "--email-source", "g"], ["gravatar"]), (["sync", "--format", "v"], ["vcard"]),
    ])
    func bashCompletesFilesAndNames(words: [String], expected: [String]) async throws {
        let workplace = try Workplace()
        try workplace.write("script", try await Self.bashScript.value)
        try workplace.write("complete.bash", Self.bashDriver)
        try workplace.write("people.json", "[]")
        try FileManager.default.createDirectory(atPath: workplace.path("pictures"), withIntermediateDirectories: false)

        let run = try await workplace.start(tool: "/bin/bash", ["complete.bash"] + words).end()

        #expect(run.lines.map { $0.trimmingCharacters(in: .whitespaces) } == expected)
    }

    @Test(
        "keys, contacts and hosts of the store are completed",
        arguments: [
            (["show", "name:"], ["name:ada", "name:ben"]), (["show", "ht"], ["http://127.0.0.1:1/a.png"]),
            (["remove", "--owner", "4"], ["42"]), (["list", "--host", "127"], ["127.0.0.1"]),
            (["show", "--store", "missing", "n"], []),
        ]
    )
    func bashCompletesWhatTheStoreHas(words: [String], expected: [String]) async throws {
        let workplace = try Workplace()
        try workplace.write("script", try await Self.bashScript.value)
        // The script calls the program by its name.
        let path = "PATH=\(Program.executable.deletingLastPathComponent().path):$PATH\n"
        try workplace.write("complete.bash", path + Self.bashDriver)
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        for name in ["ada", "ben"] { try await workplace.run("save", "me.png", "--name", name).requireSuccess() }
        try workplace.write("people.json", #"[{"id": "42", "avatarURL": "http://127.0.0.1:1/a.png"}]"#)
        _ = try await workplace.run("sync", "people.json", "--allow-private-network")

        let run = try await workplace.start(tool: "/bin/bash", ["complete.bash"] + words).end()

        #expect(run.lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty } == expected)
    }

    /// Completes its arguments and prints the candidates.
    private static let bashDriver = """
        source ./script
        COMP_WORDS=(avatars "$@"); COMP_CWORD=$#; COMP_LINE="avatars $*"; COMP_POINT=${#COMP_LINE}
        _avatars avatars "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
        """

    @Test(arguments: [
        ("zsh", ["'*:contacts:_files'", ":dir:_files -/'", "('budget' 'low-watermark' "]),
        ("fish", ["\"avatars sync\" -ge 1' -F", "(__avatars_complete_directories)", "'budget low-watermark "]),
    ])
    func otherShellsCompleteFilesAndNames(shell: String, marks: [String]) async throws {
        let script = try await Workplace().run("--generate-completion-script", shell).text

        for mark in marks { #expect(script.contains(mark), "\(mark)") }
    }

    /// A page as ArgumentParser's plugin writes it.
    private static let page = """
        .Dt AVATARS.SYNC 1
        .Sh NAME
        .Nm avatars sync
        .Nd "Syncs a store."
        .Sh DESCRIPTION
        First sentence. Second, for .json lists.

        Example: avatars sync a
        Example: avatars sync b
        .Bl -tag -width 6n
        .It Fl -one
        Text.
        .Pp
        .It Fl -two
        .El

        """

    @Test func manFindsThePageOfACommand() async throws {
        let workplace = try Workplace()
        let library = URL(filePath: #filePath).appending(path: "../../../scripts/lib.sh").standardized.path
        for folder in ["made", "man", "man/man1"] {
            try FileManager.default.createDirectory(atPath: workplace.path(folder), withIntermediateDirectories: false)
        }
        try workplace.write(
            "made/avatars.1",
            ".Dt AVATARS 1\n.Sh DESCRIPTION\nText.\n\nEnvironment variables: A for b. Others too.\n"
                + ".Bl -tag\n.El\n.Sh \"SEE ALSO\"\n.Xr avatars.sync 1\n"
        )
        try workplace.write("made/avatars.sync.1", Self.page)

        let taken = try await workplace.shell("bash -c '. \(library); take_manual_pages made man/man1'")
        let found = try await workplace.shell("command -v man >/dev/null || exit 0; man -M man -w avatars sync")

        #expect(taken.status == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: workplace.path("man/man1")).sorted() == [
                "avatars-sync.1", "avatars.1",
            ]
        )
        #expect(
            String(decoding: try workplace.read("man/man1/avatars.1"), as: UTF8.self).hasSuffix(
                """
                Text.
                .Bl -tag
                .El
                .Sh ENVIRONMENT
                A for b.
                Others too.
                .Sh "SEE ALSO"
                .Xr avatars-sync 1

                """
            )
        )
        #expect(
            String(decoding: try workplace.read("man/man1/avatars-sync.1"), as: UTF8.self).contains("AVATARS-SYNC 1")
        )
        #expect(
            String(decoding: try workplace.read("man/man1/avatars-sync.1"), as: UTF8.self).hasSuffix(
                """
                .Nd "Syncs a store"
                .Sh DESCRIPTION
                First sentence.
                Second, for .json lists.
                .Pp
                Example: avatars sync a
                .Pp
                Example: avatars sync b
                .Bl -tag -width 6n
                .It Fl -one
                Text.
                .It Fl -two
                .El

                """
            )
        )
        #expect(found.status == 0)
        #expect(found.text.isEmpty || found.text.contains("avatars-sync.1"))
    }

    /// `/etc/default/avatars` refers to the man page, which has the text of the help.
    @Test func helpNamesEveryVariable() async throws {
        let page = URL(filePath: #filePath)
            .appending(path: "../../../Sources/AvatarStore/AvatarStore.docc/CommandLine.md").standardized
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .drop { $0 != "| variable | in place of |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
        let documented = rows.flatMap { row in
            row.split(separator: "|")[0].split(separator: "`").map(String.init).filter { $0 != " " }
        }

        let words = try await Workplace().run("--help").text.split { !$0.isLetter && $0 != "_" }.map(String.init)

        #expect(documented.count >= 14)
        #expect(Set(documented).isSubset(of: words), "\(Set(documented).subtracting(words))")
        #expect(Set(EnvironmentDefaults.names + ["AVATARS_STORE"]).isSubset(of: documented))
    }

    @Test func versionIsPrinted() async throws {
        let run = try await Workplace().run("--version")

        #expect(run.status == 0)
        #expect(run.text == "0.2.0\n")
    }

    @Test(arguments: [
        ["bogus"], ["list", "--bogus"], ["fetch"], ["get"], ["path"], ["show"], ["save", "x.png"], ["move", "name:x"],
        ["list", "--class", "attic"], ["list", "--state", "happy"], ["list", "--limit", "0"], ["list", "--store", ""],
        ["sync", "--policy", "maybe"], ["sync", "--class", "transient"], ["sync", "-"], ["sync", "--limit", "-1"],
        ["sync", "-", "-", "--format", "text"], ["sync", "--connections", "0"], ["sync", "--per-host", "0"],
        ["sync", "--timeout", "0"], ["sync", "--max-redirects", "-1"], ["sync", "--user-agent", "two\nlines"],
        ["remove"], ["remove", "--all", "name:x"],
        ["remove", "--owner", "1", "--host", "h"], ["backup"], ["restore"], ["backup", ""], ["restore", "a", "b"],
        ["export"], ["export", ""], ["import"], ["import", ""], ["compact", "x"], ["changes", "--since", "-1"],
        ["verify", "--progress", "loud"], ["import", "x", "--class", "attic"], ["sync", "--prune"],
        ["sync", "--time-limit", "-1"], ["sync", "--host-time-limit", "x"], ["save", "x.png", "--name", ""],
    ])
    func misuseIsAUsageErrorAndMakesNothing(arguments: [String]) async throws {
        let workplace = try Workplace()

        let run = try await workplace.start(arguments).end()

        #expect(run.status == 64)
        #expect(run.text.isEmpty)
        #expect(run.messages.contains("Error: "))
        #expect(try workplace.names.isEmpty)
    }

    @Test(arguments: ["12XB", "64 M B", "MB", "1.5", "1.5B", "1.GB", "64  MB", "64 ", "9223372036854775807GB", ""])
    func badByteAmountsAreUsageErrorsThatSayWhatIsPossible(amount: String) async throws {
        let run = try await Workplace().run("trim", "--budget", amount)

        #expect(run.status == 64)
        #expect(run.messages.contains("64MiB") || run.messages.contains("is too large: at most "))
    }

    @Test(
        arguments: zip(
            ["500 MB", "1.5GB", "500mb", "64MiB", "0.5 kib", "2gb", "10000", "0"],
            [500_000_000, 1_500_000_000, 500_000_000, 64 << 20, 512, 2_000_000_000, 10_000, 0]
        )
    )
    func byteAmountsMayHaveFractionsSpacesAndAnyCase(text: String, bytes: Int) throws {
        #expect(try ByteAmount.parse(text) == bytes)
        #expect(try ByteAmount.parseBudget(text) == bytes)
    }

    @Test(arguments: [("64M", "64MB", "64MiB"), ("1.5 g", "1.5GB", "1.5GiB"), ("200K", "200kB", "200KiB")])
    func unitWithoutItsLastLetterNamesBothSpellings(text: String, decimal: String, binary: String) async throws {
        let run = try await Workplace().run("config", "budget", text)

        #expect(run.status == 64)
        #expect(run.messages.contains("Write \(decimal) (powers of 1000) or \(binary) (powers of 1024)."))
    }

    @Test(arguments: [["trim"], ["sync"], ["fetch", "http://127.0.0.1:1/a.png"]], ["10", "9999"])
    func smallBudgetWithoutAUnitIsAUsageError(command: [String], budget: String) async throws {
        let workplace = try Workplace()

        let run = try await workplace.start(command + ["--budget", budget]).end()

        #expect(run.status == 64)
        #expect(run.messages.contains("Add a unit, such as \(budget)MB; \(budget)B means bytes."), "\(run.messages)")
        #expect(try workplace.names.isEmpty)
    }

    @Test(
        arguments: zip(["7d", "5s", "2h", "90", "1.5 h", "0.2", "3min"], [604_800, 5, 7200, 90, 5400, 0.2, 180])
    )
    func timesMayHaveUnits(text: String, seconds: Double) throws {
        #expect(try TimeSpan.parseSeconds(text) == seconds)
    }

    @Test(arguments: ["", "h", "7w", "5 ", "1.h", "x"])
    func badTimesAreUsageErrorsThatSayWhatIsPossible(text: String) async throws {
        let run = try await Workplace().run("sync", "--time-limit", text)

        #expect(run.status == 64)
        #expect(run.messages.contains("such as 90s, 15m, 6h or 7d"), "\(run.messages)")
    }
}
