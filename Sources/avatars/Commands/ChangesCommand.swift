import ArgumentParser
import AvatarFoundation
import AvatarStore

/// `avatars changes`: the feed of added, changed and removed images.
struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Lists added, changed and removed images and their contacts.",
        usage: "avatars changes [--since <n>] [--follow] [<options>]",
        discussion: """
            Pass the last sequence number you processed to --since; `now` skips all earlier changes.

            With --follow the command keeps running and prints changes within a second, until you stop it. It begins with \
            the changes from now on, unless you give --since.

            The kind erased is a contact that was erased, by a hash: the SHA-256 of the digits of salt followed by its id.

            If the store no longer has the changes after that number, for example after a restore or the erasure of an image, the command lists \
            nothing and exits with code 1. With --json it prints startOver and a sequence number: process all images \
            once, then continue with that number.

            Example: avatars changes --since 4711 --json
            Example: avatars changes --follow --since 4711 --json
            """
    )

    /// The last number that the reader has processed. Default: the start of the feed; with `--follow`, its end.
    @Option(
        help: ArgumentHelp(
            "List only changes after this sequence number, or \"now\". Default: 0; with --follow: now.",
            valueName: "n"
        )
    )
    var since: Start?

    /// Looks at the feed once a second.
    @Flag(help: "Keep running, and print changes as they happen.")
    var follow = false

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// A place in the feed.
    enum Start: ExpressibleByArgument {
        /// Behind the change of this number.
        case after(Int64)
        /// Behind the last change.
        case now

        init?(argument: String) {
            if argument == "now" {
                self = .now
            } else if let number = Int64(argument), number >= 0 {
                self = .after(number)
            } else {
                return nil
            }
        }

        /// The number of the last change before the place.
        func number(in store: AvatarStore) throws -> Int64 {
            switch self {
            case .after(let number): number
            case .now: try store.lastChange()
            }
        }
    }

    /// Prints the changes from `since` on, a line each. With `--follow`, goes on until the task is cancelled.
    ///
    /// - Throws: `startOver` if the feed does not reach back to the last change printed; with `--json` the last sequence
    ///   number of the feed is printed before. With `--follow` also `indexWasReplaced` and `indexWasUpgraded`.
    func run() async throws {
        try await store.withStore(.readOnly) { store in
            let start = try (since ?? (follow ? .now : .after(0))).number(in: store)
            do {
                if follow, !output.json { try Console.output.write(AvatarChange.table.heading) }
                var sequence = try print(store, after: start, hasHeading: follow)
                while follow {
                    try await Deadlines.shared.sleep(for: .seconds(1))
                    try Console.output.requireReader()
                    try store.requireCurrentIndex()
                    sequence = try print(store, after: sequence, hasHeading: true)
                }
            } catch var error as AvatarStoreError where error.code == .startOver {
                let last = try store.lastChange()
                if output.json { try AvatarChange.startOver(after: last).print() }
                let next = "avatars changes --since \(last)\(follow ? " --follow" : "")\(output.json ? " --json" : "")"
                error.message +=
                    " Process all images once, for example with `avatars list`, then continue with `\(next)`."
                throw error
            }
        }
    }

    /// Prints the changes after `start`, batch by batch.
    ///
    /// - Parameter hasHeading: whether the heading of the table is printed already.
    /// - Returns: the sequence number of the last change printed.
    private func print(_ store: AvatarStore, after start: Int64, hasHeading: Bool) throws -> Int64 {
        var sequence = start
        var needsHeading = !hasHeading && !output.json
        while true {
            let changes = try store.changes(since: sequence)
            guard let last = changes.last else { return sequence }
            let heading = needsHeading ? AvatarChange.table.heading.bytes : []
            let lines = try output.json ? AvatarChange.lines(changes, in: store) : rows(changes, in: store)
            try Console.output.write(heading + lines)
            sequence = last.sequence
            needsHeading = false
        }
    }

    private func rows(_ changes: [AvatarChange], in store: AvatarStore) throws -> [UInt8] {
        let names = try store.names(ofContacts: changes.flatMap(\.contacts))
        return changes.flatMap { AvatarChange.table.line($0.row(names)).bytes }
    }
}
