public import AvatarCore
import AvatarIndex

/// The input of a sync: contacts, address books, or the images that the store has already.
public struct SyncInput: Sendable {
    /// The store in which the items are looked up.
    struct Surroundings {
        let index: AvatarIndex
        /// Makes the file for records that cannot be read again; `nil` in a store that is open for reading only.
        let makeSpool: (@Sendable () throws -> RecordSpool)?
        let now: Timestamp
    }

    /// The address books, which are asked before the list is read.
    let sources: [ContactSource]
    /// Whether there are contacts, so that a sync can tell which ones the input omits.
    let hasContacts: Bool
    /// The number of records in the list; `nil` if it is not known.
    let total: Int?
    /// Makes the items from the cards of the address books, if there are any, and the list.
    let makeItems: @Sendable (SourceRecords?, SyncOptions, Surroundings) throws -> SyncSource

    /// A contact list, as `AvatarStore.sync(_:options:total:progress:)` takes it.
    ///
    /// - Parameters:
    ///   - records: the list.
    ///   - total: the number of records, for the progress. Default: unknown.
    public static func records<Records>(_ records: Records, total: Int? = nil) -> SyncInput
    where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        sources([], and: records, total: total)
    }

    /// Contacts in memory.
    public static func contacts(_ contacts: [Contact]) -> SyncInput {
        sources([], and: ContactArray(contacts: contacts), total: contacts.count)
    }

    /// Address books, as `AvatarStore.sync(from:options:progress:)` takes them.
    public static func sources(_ sources: [ContactSource]) -> SyncInput {
        self.sources(sources, and: ContactArray(contacts: []), total: 0)
    }

    /// Address books and a contact list. The list is read after them, so that its record of a contact counts.
    ///
    /// - Parameters:
    ///   - sources: the address books.
    ///   - records: the list.
    ///   - total: the number of records in the list, for the progress. Default: unknown.
    public static func sources<Records>(
        _ sources: [ContactSource],
        and records: Records,
        total: Int? = nil
    ) -> SyncInput where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        SyncInput(sources: sources, hasContacts: true, total: total) { cards, options, surroundings in
            guard let cards else { return try list(records, nil, options, surroundings) }
            let named = ImagesAtSources(sources)
            if records is ContactArray, total == 0 { return try list(cards, named, options, surroundings) }
            return records is any RepeatableRecords
                ? try list(JoinedRecords(first: cards, second: records), named, options, surroundings)
                : try list(OnceRecords(first: cards, second: records), named, options, surroundings)
        }
    }

    /// The images that the store has and that are due; with `SyncOptions.checksAll` or the policy `reload`, all of them.
    ///
    /// A sync throws `invalidConfiguration` if its options ask for pruning.
    public static let stored = SyncInput(sources: [], hasContacts: false, total: nil) { _, options, surroundings in
        if options.checksAll || options.policy == .reload { return .everything(in: surroundings.index) }
        return .due(in: surroundings.index, at: surroundings.now, ignoresPauses: options.asksPausedHosts)
    }

    private static func list<Records>(
        _ records: Records,
        _ named: ImagesAtSources?,
        _ options: SyncOptions,
        _ surroundings: Surroundings
    ) throws -> SyncSource where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        .list(
            records,
            spooledTo: records is any RepeatableRecords ? nil : surroundings.makeSpool,
            emailSources: options.emailSources,
            ignoring: try surroundings.index.ignoredDigests(),
            reducing: try surroundings.index.volatileQueries(),
            noting: named,
            in: surroundings.index
        )
    }

    /// Checks that the input can be synced with `options`.
    ///
    /// - Throws: `invalidConfiguration` if they ask for pruning and there are no contacts.
    func validate(_ options: SyncOptions) throws(AvatarStoreError) {
        guard options.prunes, !hasContacts else { return }
        throw AvatarStoreError(
            .invalidConfiguration,
            "Pruning needs a contact list: it unlinks the contacts that the list omits."
        )
    }
}
