import AvatarContacts
import AvatarStore
import AvatarStoreTesting

/// What the steps of the demonstration share; the steps are in the extensions, in their order.
final class Demonstration {
    /// The name of the image that is saved as a document.
    static let documentName = "our-logo"

    let people: [Person]
    let origins: Origins
    let list: ContactList
    let total: Int
    let store: AvatarStore
    let page: Page
    /// The person whose picture the later steps follow, and where it is.
    let guest: Person
    let guestURL: String
    /// What the first sync did.
    var firstSync = SyncReport()

    init(people: [Person], origins: Origins, list: ContactList, store: AvatarStore, page: Page) throws {
        guard let guest = people.first(where: { $0.picture == .portrait(.png) }), let url = origins.url(of: guest)
        else {
            throw AvatarDemoError(failedClaims: ["somebody in the list has a portrait"])
        }
        self.people = people
        self.origins = origins
        self.list = list
        total = try list.validate()
        self.store = store
        self.page = page
        self.guest = guest
        guestURL = url
    }

    /// Syncs the list; the origins count from zero.
    ///
    /// - Throws: what the store throws; `CancellationError`.
    func sync(
        includingFresh: Bool = false,
        limit: Int? = nil,
        progress: @escaping @Sendable (SyncProgress) -> Void = { _ in }
    ) async throws -> SyncReport {
        var options = SyncOptions()
        options.includesFresh = includingFresh
        options.limit = limit
        origins.resetCounts()
        let report = try await store.sync(list, options: options, total: total, progress: progress)
        // A sync that is cancelled says so in its report; the claims are about whole ones.
        try Task.checkCancellation()
        return report
    }

    /// The files in `caches`, as they are on disk.
    func cachedFiles() throws -> FolderSnapshot {
        try FolderSnapshot(of: store.configuration.layout.cachesRoot)
    }

    /// The name of the contact `id`, as the list has it.
    func name(ofContact id: String) -> String {
        people.first { $0.id == id }?.name ?? id
    }
}
