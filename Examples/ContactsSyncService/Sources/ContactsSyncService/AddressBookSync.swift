import AvatarStore
import Foundation
import Logging

/// Brings the store in line with the address book: one round of the periodic sync.
///
/// The state of the address book is kept in a file once everything that changed until then is in the store. If the service
/// stops in between, the next round sees those changes again, and a change that is already in the store costs nothing.
actor AddressBookSync {
    private let book: AddressBook
    private let store: AvatarStore
    private let stateFile: URL
    private let logger: Logger

    /// Seconds after which a round compares everything: that finds the changes that the server did not tell of.
    private static let secondsBetweenFullRounds = 86_400.0

    /// How far the store has followed the address book. It is in a file and not in memory, so that a restart changes
    /// nothing.
    struct State: Codable {
        /// The server's name for the state of the address book.
        var token: String
        /// When everything was compared last.
        var compared: Date
        /// Cards that were read and have to be read again, see `unsettled(_:_:)`.
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
            logger.notice("the server has forgotten the state; everything is compared")
            try await compareEverything()
        }
    }

    private func compareEverything() async throws {
        try await bringIn(book.changes(since: nil), comparedBefore: nil)
    }

    /// - Parameter comparedBefore: when everything was compared last; `nil`: `changes` names all cards there are.
    private func bringIn(_ changes: AddressBook.Changes, comparedBefore: Date?) async throws {
        var state = State(token: changes.token, compared: comparedBefore ?? Date())
        guard comparedBefore == nil || !(changes.changed.isEmpty && changes.removed.isEmpty) else {
            return try keep(state)
        }
        for path in changes.removed {
            // The person is gone, and so is their picture. With `erasing: true` not even the feed of changes would tell.
            _ = try await store.remove(contact: ContactID.of(path))
        }
        var options = SyncOptions()
        // All cards there are: a contact that is not among them is gone.
        options.prunes = comparedBefore == nil
        let pictures = NamedPictures()
        let report = try await store.sync(
            ChangedContacts(book: book, paths: changes.changed, pictures: pictures),
            options: options,
            total: changes.changed.count
        )
        for path in await pictures.cardsWithout {
            // A sync without `prunes` takes no picture away. A card that has none any more takes it from the contact.
            guard try !store.images(ofContact: ContactID.of(path)).isEmpty else { continue }
            _ = try await store.remove(contact: ContactID.of(path))
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
            logger.warning("deleted contacts keep their pictures: a card cannot be read")
        }
        // A sync that ended early has not read all cards: the next round sees the same changes again.
        guard !report.wasCancelled, !report.ranOutOfTime else { return }
        state.unsettled = try await unsettled(pictures.urls, report)
        try keep(state)
    }

    /// The cards that the index does not yet know enough of, although the sync read them.
    ///
    /// The index remembers a URL once it was asked for, also if that failed: it is asked for again when its time has come,
    /// in a sync without a list too. What is backing off is skipped, and needs no card. A URL that was never asked for,
    /// because its host is paused or the network is away, is in no index. Nor does the index know that a photo out of an
    /// earlier card is to go once the image at the URL is there.
    private func unsettled(_ urls: [String: [AvatarKey]], _ report: SyncReport) throws -> [String] {
        try urls.compactMap { path, keys in
            let images = try store.images(ofContact: ContactID.of(path))
            // If nothing was skipped, an image that is not there has no room in the budget: a full round asks again.
            let isUnknown = report.skipped > 0 && !keys.contains(where: images.contains)
            return isUnknown || images.contains(where: \.isContactPhoto) ? path : nil
        }
        .sorted()
    }

    // MARK: The state of the address book

    private func isRecent(_ compared: Date) -> Bool {
        // A clock that was set back must not put off the comparison.
        (0..<Self.secondsBetweenFullRounds).contains(-compared.timeIntervalSinceNow)
    }

    private func keptState() throws -> State? {
        guard FileManager.default.fileExists(atPath: stateFile.path) else { return nil }
        do {
            return try JSONDecoder().decode(State.self, from: Data(contentsOf: stateFile))
        } catch is DecodingError {
            logger.notice("the kept state cannot be read; everything is compared")
            return nil
        }
    }

    private func keep(_ state: State) throws {
        try JSONEncoder().encode(state).write(to: stateFile, options: .atomic)
    }
}
