import AvatarContacts
import AvatarStore

/// A list at a URL whose validators the store keeps. While the server says that the list is the same, a sync does not read it, and
/// revalidates the images of the store that are due.
struct KeptList {
    /// The name of the list in the index.
    let name: String
    /// How it is read, and what the sync does with it.
    private let form: String

    /// The list of a sync with `options` of the lists at `paths`; `nil` unless that is one at a URL which the sync only has to read if it
    /// has changed.
    ///
    /// - Parameter listName: the name that the operator gave the list; `nil` for that of its URL.
    /// - Throws: `ValidationError` for a path that is not a valid URL.
    init?(
        _ paths: [String],
        _ books: [AddressBook],
        named listName: String?,
        _ reading: ListReading,
        _ options: SyncOptions
    ) throws {
        // With other lists or address books, or if each contact may have an image elsewhere, what is due depends on the whole list.
        guard paths.count == 1, books.isEmpty, ListAtURL.isURL(paths[0]), options.emailSources.isEmpty,
            options.policy == .revalidate, !options.checksAll, !options.comparesAll
        else { return nil }
        let place = try ListAtURL(paths[0])
        name = listName ?? place.name
        let columns = reading.columns.map { "\($0.key.rawValue)=\($0.value)" }.sorted()
        let format = reading.format?.rawValue ?? ""
        form = "\(place.name) \(format) \(columns) \(options.storage) \(options.prunes) \(options.prunesAll)"
    }

    /// The validators to send; `nil` if the list has to be read.
    func validators(in store: AvatarStore) throws -> ListValidators? {
        try store.validators(ofList: name, readAs: form)
    }

    /// Keeps the validators of `lists`, which a sync with `report` has read.
    func keep(_ lists: ContactLists, in store: AvatarStore, after report: SyncReport) async throws {
        guard !lists.alternatives.areFound else { return }
        try await store.keep(lists.validators, ofList: name, readAs: form, after: report)
    }

    /// The options for a sync beside the unchanged list, which unlinks nothing.
    func options(of options: SyncOptions) -> SyncOptions {
        var options = options
        (options.prunes, options.prunesAll, options.list) = (false, false, nil)
        return options
    }

    /// The sentence about a list that was not read.
    var unchangedNote: String { "\(name) has not changed since the last sync" }
}
