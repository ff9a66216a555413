public import AvatarStore
public import AvatarCore
import AvatarIndex

/// A list or an address book that the store knows by its name; see `SyncOptions.list` and `ContactSource`.
public struct NamedList: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The kind.
    public var kind: ContactSource.Kind
    /// The number of contacts that it names.
    public var contacts: Int
    /// The number of cards of an address book; 0 for a list.
    public var cards: Int
    /// The end of the last sync of an address book; `nil` for a list, and before the first.
    public var lastSync: Timestamp?
    /// The reason why the last sync could not read the address book; `nil` if it could.
    public var failure: String?
}

extension AvatarStore {
    /// The lists and address books that the store knows by name, in the order of their names. Reads all contacts once for each.
    ///
    /// - Throws: an error of the index.
    public func namedLists() throws -> [NamedList] {
        try index.sources().map { source in
            NamedList(
                name: source.name,
                kind: ContactSource.Kind(number: source.kind),
                contacts: try index.contactCount(of: source),
                cards: try index.cardCount(of: source),
                lastSync: source.syncedAt,
                failure: source.failure
            )
        }
    }

    /// The number of contacts that only the list `name` names, and that `forget(list:)` would unlink; `nil` for an unknown list.
    ///
    /// - Throws: an error of the index.
    public func contactCount(onlyIn name: String) throws -> Int? {
        guard try index.source(named: name) != nil else { return nil }
        let mask = try index.mask(ofLists: [name])
        var (count, last) = (0, "")
        while true {
            let page = try index.contacts(namedOnlyBy: mask, after: last, limit: 4096)
            guard let end = page.last else { return count }
            (count, last) = (count + page.count, end)
        }
    }

    /// Forgets the list `name`, which no sync reads any more: unlinks the contacts that only it names, as a sync that prunes does,
    /// and keeps the others. On return the links are gone, and the list's number is free for another list.
    ///
    /// - Returns: the number of contacts that were unlinked; `nil` for an unknown list.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk; `CancellationError`: then the
    ///   list is still known, and the call can be repeated.
    @discardableResult
    public func forget(list name: String) async throws -> Int? {
        let writer = try parts.requireWritable().writer
        guard try index.source(named: name) != nil else { return nil }
        let mask = try index.mask(ofLists: [name])
        var (count, last) = (0, "")
        while true {
            try Task.checkCancellation()
            let page = try index.contacts(namedOnlyBy: mask, after: last, limit: 512)
            guard let end = page.last else { break }
            let links = try page.flatMap { contact in
                try index.imageKeys(of: contact).filter { !$0.isSaved }.map { (contact: contact, key: $0) }
            }
            try await writer.unlink(inBatches: links)
            try await writer.removeContacts(page)
            (count, last) = (count + page.count, end)
        }
        _ = try await writer.write { try $0.forget(list: name) }
        return count
    }
}
