import ArgumentParser
import AvatarStore

/// `avatars changes`: whose picture changed.
struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Lists what changed: pictures that are new, changed or gone, and whose they are.",
        usage: "avatars changes [--since <n>] [<options>]",
        discussion: """
            Pass the last number that you processed to --since. If the feed lacks changes after it, or the number is \
            beyond the end, as after a restore, nothing is listed, the exit code is 1 and --json says startOver, with the \
            number to go on from once you have looked at all images.

            Example: avatars changes --since 4711 --json
            """
    )

    @Option(help: ArgumentHelp("Only what changed after this number.", valueName: "n"))
    var since: Int64 = 0

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if since < 0 { throw ValidationError("--since is at least 0.") }
    }

    func run() async throws {
        try await store.withStore(.readOnly) { store in
            do {
                try print(store)
            } catch let error as AvatarStoreError where error.code == .startOver {
                let last = try Int(store.lastChange())
                if output.json { try JSON.object(["startOver": JSON(true), "sequence": JSON(last)]).print() }
                throw error
            }
        }
    }

    private func print(_ store: AvatarStore) throws {
        var sequence = since
        var isFirst = true
        while true {
            let changes = try store.changes(since: sequence)
            guard let last = changes.last else { return }
            var text = isFirst && !output.json ? AvatarChange.table.heading : ""
            for change in changes {
                text += output.json ? try JSON.object(change.fields).line : AvatarChange.table.line(change.row)
            }
            try Console.output.write(text)
            sequence = last.sequence
            isFirst = false
        }
    }
}
