import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// Candidates for the completion of shells, from the store that the command line or the environment names.
///
/// Without a store that can be read there are none. At most 2,000 entries are looked at, because a person waits.
enum StoreCompletion {
    /// The most entries or contacts that are looked at.
    private static let mostExamined = 2_000
    /// The most candidates.
    private static let mostOffered = 100

    /// The keys of entries that begin with the word.
    static func keys(_ line: CommandWords) -> [String] {
        line.candidates { store in
            try entries(of: store).map(\.key.rawValue)
        }
    }

    /// The names of hosts that begin with the word.
    static func hosts(_ line: CommandWords) -> [String] {
        line.candidates { store in
            Set(try entries(of: store).compactMap(\.key.host?.name)).sorted()
        }
    }

    /// The ids of contacts that begin with the word.
    static func contacts(_ line: CommandWords) -> [String] {
        line.candidates { store in
            try store.contacts(limit: mostExamined).contacts.map(\.id)
        }
    }

    /// The digests that begin with the word: of ignored images after `--undo`, else of images that many contacts have.
    static func digests(_ line: CommandWords) -> [String] {
        line.candidates { store in
            try line.contains("--undo")
                ? store.ignoredImages().map(\.digest)
                : store.sharedImages(limit: mostOffered).images.map(\.digest)
        }
    }

    private static func entries(of store: AvatarStore) throws -> [AvatarListItem] {
        var query = AvatarListQuery()
        query.limit = mostExamined
        return try store.list(query).items
    }

    /// The words of a command line, and the one to complete.
    struct CommandWords {
        private let words: [String]
        /// The word up to the cursor. bash counts a colon as a word of its own, so behind one it completes no key.
        private let prefix: String

        init(_ words: [String], prefix: String) {
            (self.words, self.prefix) = (words, prefix)
        }

        /// The candidates of `body` that begin with the word.
        func candidates(_ body: (AvatarStore) throws -> [String]) -> [String] {
            let found: [String]
            do {
                let configuration = AvatarStore.Configuration(layout: StoreLocation(directory: directory).layout)
                let store = try AvatarStore.openForReading(configuration)
                found = try body(store)
                try store.closeForReading()
            } catch {
                // A message would be in the way of the command line.
                return []
            }
            return Array(found.lazy.filter { $0.hasPrefix(prefix) }.prefix(mostOffered))
        }

        /// Whether a word is on the line.
        func contains(_ word: String) -> Bool { words.contains(word) }

        /// The value of `--store` on the line.
        private var directory: String? {
            if let option = words.firstIndex(of: "--store"), option + 1 < words.count { return words[option + 1] }
            return words.first { $0.hasPrefix("--store=") }.map { String($0.dropFirst("--store=".count)) }
        }
    }
}

extension CompletionKind {
    /// The keys of the store's entries.
    static let storeKey = custom { words, _, prefix in StoreCompletion.keys(.init(words, prefix: prefix)) }
    /// The names of the store's hosts.
    static let storeHost = custom { words, _, prefix in StoreCompletion.hosts(.init(words, prefix: prefix)) }
    /// The digests of the store's images that `ignore` is about.
    static let storeDigest = custom { words, _, prefix in StoreCompletion.digests(.init(words, prefix: prefix)) }
    /// The ids of the store's contacts.
    static let storeContact = custom { words, _, prefix in StoreCompletion.contacts(.init(words, prefix: prefix)) }
}
