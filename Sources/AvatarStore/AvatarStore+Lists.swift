import AvatarCore
import AvatarIndex

/// A list with a name that the store knows; see `SyncOptions.list`.
public struct NamedList: Hashable, Sendable {
    /// The name.
    public var name: String
    /// The number of contacts that it names.
    public var contacts: Int
}

extension AvatarStore {
    /// The lists with names that the store knows, in the order of their names. Reads all contacts once for each.
    ///
    /// - Throws: an error of the index.
    public func namedLists() throws -> [NamedList] {
        try index.lists().map { NamedList(name: $0.name, contacts: $0.contacts) }
    }

    /// The number of contacts that only the list `name` names, and that `forget(list:)` would unlink; `nil` for an unknown list.
    ///
    /// - Throws: an error of the index.
    public func contactCount(onlyIn name: String) throws -> Int? {
        guard try index.lists().contains(where: { $0.name == name }) else { return nil }
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
        guard try index.lists().contains(where: { $0.name == name }) else { return nil }
        let mask = try index.mask(ofLists: [name])
        var (count, last) = (0, "")
        while true {
            try Task.checkCancellation()
            let page = try index.contacts(namedOnlyBy: mask, after: last, limit: 512)
            guard let end = page.last else { break }
            let links = try page.flatMap { contact in
                try index.imageKeys(of: contact).map { (contact: contact, key: $0) }
            }
            try await writer.unlink(inBatches: links)
            try await writer.removeContacts(page)
            (count, last) = (count + page.count, end)
        }
        _ = try await writer.write { try $0.forget(list: name) }
        return count
    }
}
