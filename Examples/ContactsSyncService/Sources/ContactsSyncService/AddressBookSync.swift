import AvatarStore
import Foundation
import Logging

/// Brings the store in line with the address book: one round of the periodic sync.
///
/// The state of the address book is kept in a file once everything that changed until then is in the store. Whatever stops
/// the service in between, the next round sees those changes again, and a change that is done already costs nothing.
actor AddressBookSync {
    private let book: AddressBook
    private let store: AvatarStore
    private let tokenFile: URL
    private let logger: Logger
    private var round = 0

    /// One round in so many compares everything: whatever answers about changes left out is found.
    private static let roundsBetweenFullOnes = 96

    init(book: AddressBook, store: AvatarStore, tokenFile: URL, logger: Logger) {
        self.book = book
        self.store = store
        self.tokenFile = tokenFile
        self.logger = logger
    }

    func run() async throws {
        let token = try keptToken()
        defer { round += 1 }
        do {
            let isFull = token == nil || round % Self.roundsBetweenFullOnes == Self.roundsBetweenFullOnes - 1
            try await bringIn(book.changes(since: isFull ? nil : token), isFull: isFull)
        } catch AddressBook.Failure.tokenIsInvalid where token != nil {
            logger.notice("the server has forgotten the state; everything is compared")
            try await bringIn(book.changes(since: nil), isFull: true)
        }
    }

    private func bringIn(_ changes: AddressBook.Changes, isFull: Bool) async throws {
        guard isFull || !(changes.changed.isEmpty && changes.removed.isEmpty) else { return try keep(changes.token) }
        for path in changes.removed {
            // The person is gone, and so is their picture. With `erasing: true` not even the feed of changes would tell.
            _ = try await store.remove(contact: ContactID.of(path))
        }
        var options = SyncOptions()
        // All cards there are: who is not among them is gone.
        options.prunes = isFull
        let report = try await store.sync(
            ChangedContacts(book: book, paths: changes.changed),
            options: options,
            total: changes.changed.count
        )
        logger.info(
            "brought in changes",
            metadata: [
                "contacts": "\(report.contacts)", "removed": "\(changes.removed.count)", "saved": "\(report.saved)",
                "fetched": "\(report.fetched)", "failed": "\(report.failed)",
            ]
        )
        // What failed is tried again by the store when its time has come; what was skipped is not known to it yet.
        if report.skipped == 0, !report.wasCancelled { try keep(changes.token) }
    }

    // MARK: The state of the address book

    private func keptToken() throws -> String? {
        guard FileManager.default.fileExists(atPath: tokenFile.path) else { return nil }
        return String(decoding: try Data(contentsOf: tokenFile), as: UTF8.self)
    }

    private func keep(_ token: String) throws {
        try Data(token.utf8).write(to: tokenFile, options: .atomic)
    }
}
