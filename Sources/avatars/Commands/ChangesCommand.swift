import ArgumentParser
import AvatarStore

/// `avatars changes`: the feed of added, changed and removed pictures.
struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Lists added, changed and removed pictures and their contacts.",
        usage: "avatars changes [--since <n>] [<options>]",
        discussion: """
            Pass the last sequence number you processed to --since.

            If the feed no longer reaches back to that number, or ends before it, as after a restore, the command lists \
            nothing and the exit code is 1. With --json it prints startOver and a sequence number: process all images \
            once, then continue with that number.

            Example: avatars changes --since 4711 --json
            """
    )

    /// The last number that the reader has processed. Default: 0, the start of the feed.
    @Option(help: ArgumentHelp("List only changes after this sequence number.", valueName: "n"))
    var since: Int64 = 0

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if `--since` is negative.
    func validate() throws {
        if since < 0 { throw ValidationError("--since must be at least 0, not \(since).") }
    }

    /// Prints the changes after `since`, a line each.
    ///
    /// - Throws: `startOver` if the feed does not reach back to `since`; with `--json` the last sequence number is
    ///   printed before.
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

    /// Prints the changes after `since`, batch by batch.
    private func print(_ store: AvatarStore) throws {
        var sequence = since
        var isFirst = true
        while true {
            let changes = try store.changes(since: sequence)
            guard let last = changes.last else { return }
            let names = try store.names(ofContacts: changes.flatMap(\.contacts))
            var text = isFirst && !output.json ? AvatarChange.table.heading : ""
            for change in changes {
                text +=
                    output.json
                    ? try JSON.object(change.fields(names)).line : AvatarChange.table.line(change.row(names))
            }
            try Console.output.write(text)
            sequence = last.sequence
            isFirst = false
        }
    }
}
