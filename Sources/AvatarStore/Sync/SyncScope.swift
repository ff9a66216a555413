import AvatarIndex
import AvatarWriter

/// The surroundings that the parts of one sync share.
struct SyncScope {
    /// The store for the fetches of the sync, and its limits.
    let engine: FetchEngine
    /// The items of the sync.
    let source: SyncSource
    /// The address books of the sync; `nil` without any.
    let sources: SourceSync?
    /// How the sync works.
    let options: SyncOptions
    /// Counts and reports.
    let tally: SyncTally
    /// The signals of tasks to the run, which handles them one after another.
    let inbox = SyncInbox<SyncSignal>()
    /// The contacts that wait.
    let contacts = SyncContacts()

    /// Index, files and configuration of the store.
    var parts: StoreParts { engine.fetching.parts }
    /// The index of the store.
    var index: AvatarIndex { engine.index }
    /// The writer of the store.
    var writer: StoreWriter { engine.writer }
    /// The source of answers that is asked before a host; `nil` without one.
    var answers: (any AnswerSource)? { engine.answers }
    /// The maximum number of requests under way.
    var connections: Int { options.connections ?? engine.fetching.parts.configuration.connections }
    /// Whether the images of the sync go to `documents`, which has no budget.
    var usesDocuments: Bool { options.storage == .documents }
}
