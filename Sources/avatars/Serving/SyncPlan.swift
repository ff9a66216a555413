import ArgumentParser
import AvatarContacts
import AvatarFoundation
import AvatarStore

/// One sync of a server: its lists and address books, and how they are synced.
struct SyncPlan: Sendable {
    /// The place of the sync in messages, such as `line 3 of "syncs"`; `nil` for the options of the command.
    var place: String?
    /// The paths of the lists; they are read again for each sync. Without one and without a source, the sync revalidates the images
    /// that are due.
    var paths: [String]
    var books: [AddressBook]
    var reading: ListReading
    /// The name of the list; `nil` for its absolute path.
    var listName: String?
    var options: SyncOptions
}

/// The syncs of a server, which a signal replaces.
final class SyncPlans: Sendable {
    private let plans: Locked<[SyncPlan]>

    init(_ plans: [SyncPlan]) {
        self.plans = Locked(plans)
    }

    var all: [SyncPlan] { plans.withLock { $0 } }

    func replace(by new: [SyncPlan]) {
        plans.withLock { $0 = new }
    }
}

/// A file with the arguments of a sync on each line, as `serve --sync-file` reads it.
enum SyncFile {
    /// The options of `sync` that a line may have. The others concern the store, the network or the command.
    private static let options: Set<Substring> = [
        "format", "column", "list-name", "class", "policy", "all", "limit", "max-bytes", "time-limit",
        "host-time-limit",
        "prune", "prune-all", "ignore-pauses", "email-source", "email-recheck", "user", "password-file", "netrc-file",
        "book",
        "full",
    ]

    /// A line with a sync.
    struct Line {
        let place: String
        let sync: SyncCommand
    }

    /// The syncs in the file at `path`, which is read on another thread: it may be a pipe.
    ///
    /// - Throws: `storage` if the file cannot be read; `invalidConfiguration` for a line that is not a sync; `CancellationError`.
    static func read(_ path: String) async throws -> [Line] {
        let text = try await withBlockingThread {
            String(decoding: try InputFile(path: path, named: "the sync file \"\(path)\"").allBytes(), as: UTF8.self)
        }
        return try lines(of: text, named: path)
    }

    /// The syncs in `text`, a line each. A line is split into words like a command; `#` begins a comment.
    ///
    /// - Throws: `invalidConfiguration` for a line that is not a sync.
    static func lines(of text: String, named path: String) throws(AvatarStoreError) -> [Line] {
        var lines: [Line] = []
        let all = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in all.enumerated() {
            let place = "line \(number + 1) of \"\(path)\""
            guard let words = words(of: line) else {
                throw AvatarStoreError(.invalidConfiguration, "The quote in \(place) is not closed.")
            }
            if !words.isEmpty { lines.append(Line(place: place, sync: try sync(words, at: place))) }
        }
        return lines
    }

    private static func sync(_ words: [String], at place: String) throws(AvatarStoreError) -> SyncCommand {
        guard !words.contains("-") else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "A server cannot read standard input (-), which \(place) names."
            )
        }
        for word in words where word.hasPrefix("-") {
            let name = word.drop { $0 == "-" }.prefix { $0 != "=" }
            guard options.contains(name), word.hasPrefix("--") else {
                let known = options.sorted().map { "--\($0)" }.joined(separator: ", ")
                throw AvatarStoreError(
                    .invalidConfiguration,
                    "The option \"\(word.prefix { $0 != "=" })\" in \(place) is not one of a sync's: \(known)."
                )
            }
        }
        do {
            return try SyncCommand.parse(words)
        } catch {
            throw AvatarStoreError(.invalidConfiguration, "In \(place): \(SyncCommand.message(for: error))")
        }
    }

    /// The words of a line: separated by white space, which quotes and a backslash keep. `nil` for a quote without an end.
    private static func words(of line: Substring) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "\"" || character == "'" {
                quote = character
                word = word ?? ""
            } else if character.isWhitespace {
                if let whole = word { words.append(whole) }
                word = nil
            } else if character == "#", word == nil {
                break
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        if let word { words.append(word) }
        return words
    }
}
