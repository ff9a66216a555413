import AvatarStore
import Foundation
import Logging

/// One round of the periodic sync: applies the changes of the address book to the store.
///
/// The round saves its sync token only after the store has all changes up to it. If the service stops in between, the next
/// round sees those changes again; a change that the store already has costs nothing.
actor AddressBookSync {
    private let book: AddressBook
    private let store: AvatarStore
    private let stateFile: URL
    private let logger: Logger

    /// After this many seconds a round compares everything, which finds changes that the server did not report.
    private static let secondsBetweenFullRounds = 86_400.0

    /// The position in the changes of the address book. It is saved in a file, so that a restart changes nothing.
    struct State: Codable {
        /// The server's sync token.
        var token: String
        /// The time of the last full comparison.
        var compared: Date
        /// Cards that must be read again; see `unsettled(_:_:)`.
        var unsettled: [String] = []
    }

    init(book: AddressBook, store: AvatarStore, stateFile: URL, logger: Logger) {
        self.book = book
        self.store = store
        self.stateFile = stateFile
        self.logger = logger
    }

    func run() async throws {
        guard let state = try keptState(), isRecent(state.compared) else { return try await compareEverything() }
        do {
            var changes = try await book.changes(since: state.token)
            changes.changed += Set(state.unsettled).subtracting(changes.changed + changes.removed).sorted()
            try await bringIn(changes, comparedBefore: state.compared)
        } catch AddressBook.Failure.tokenIsInvalid {
            logger.notice("the server has forgotten the sync token; comparing all cards")
            try await compareEverything()
        }
    }

    private func compareEverything() async throws {
        try await bringIn(book.changes(since: nil), comparedBefore: nil)
    }

    /// - Parameter comparedBefore: The time of the last full comparison; `nil` if `changes` has all cards.
    private func bringIn(_ changes: AddressBook.Changes, comparedBefore: Date?) async throws {
        var state = State(token: changes.token, compared: comparedBefore ?? Date())
        guard comparedBefore == nil || !(changes.changed.isEmpty && changes.removed.isEmpty) else {
            return try keep(state)
        }
        for path in changes.removed {
            // Removes the contact and its picture. With `erasing: true` the feed of changes would forget it too.
            _ = try await store.remove(contact: ContactID.of(path))
        }
        var options = SyncOptions()
        // With all cards at hand, a contact without a card was deleted.
        options.prunes = comparedBefore == nil
        let pictures = NamedPictures()
        let report = try await store.sync(
            ChangedContacts(book: book, paths: changes.changed, pictures: pictures),
            options: options,
            total: changes.changed.count
        )
        for path in await pictures.cardsWithout {
            // A sync without `prunes` unlinks nothing, so the picture of a card that has none any more is unlinked here.
            let id = ContactID.of(path)
            try await store.unlink(store.imageKeys(ofContact: id).map { ContactLink(contact: id, key: $0) })
        }
        logger.info(
            "brought in changes",
            metadata: [
                "full": "\(options.prunes)", "contacts": "\(report.contacts)", "removed": "\(changes.removed.count)",
                "saved": "\(report.saved)", "fetched": "\(report.fetched)", "failed": "\(report.failed)",
                "skipped": "\(report.skipped)", "unreadable": "\(report.unreadable)",
            ]
        )
        if report.hasKeptLeavers, report.unreadable > 0 {
            logger.warning("kept the pictures of deleted contacts, because a card cannot be read")
        }
        // A sync that ended early has not read all cards. The token stays, so that the next round sees the changes again.
        guard !report.wasCancelled, !report.ranOutOfTime else { return }
        state.unsettled = try await unsettled(pictures.urls, report)
        try keep(state)
    }

    /// The cards that must be read again, although the sync read them.
    ///
    /// The index has each URL that was requested, also if the request failed: a sync without a list tries it again when its
    /// backoff ends, so its card is not needed. Two things are not in the index. One is a URL that was never requested,
    /// because its host is paused or the network is away. The other is that a photo of an earlier card is to be removed once
    /// the image at the new URL is stored.
    private func unsettled(_ urls: [String: [AvatarKey]], _ report: SyncReport) throws -> [String] {
        try urls.compactMap { path, keys in
            let images = try store.imageKeys(ofContact: ContactID.of(path))
            // If nothing was skipped, a missing image had no room in the budget; a full round requests it again.
            let isUnknown = report.skipped > 0 && !keys.contains(where: images.contains)
            return isUnknown || images.contains(where: \.isContactPhoto) ? path : nil
        }
        .sorted()
    }

    // MARK: The state of the address book

    private func isRecent(_ compared: Date) -> Bool {
        // A negative age means that the clock was set back, which must not delay the comparison.
        (0..<Self.secondsBetweenFullRounds).contains(-compared.timeIntervalSinceNow)
    }

    private func keptState() throws -> State? {
        guard FileManager.default.fileExists(atPath: stateFile.path) else { return nil }
        do {
            return try JSONDecoder().decode(State.self, from: Data(contentsOf: stateFile))
        } catch is DecodingError {
            logger.notice("address-book.json cannot be read; comparing all cards")
            return nil
        }
    }

    private func keep(_ state: State) throws {
        try JSONEncoder().encode(state).write(to: stateFile, options: .atomic)
    }
}
