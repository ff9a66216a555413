import AvatarStore

extension AvatarStore {
    /// The images that nobody but `contact` uses: what `remove(contact:)` takes away.
    func keysUsedOnly(by contact: String) throws -> [AvatarKey] {
        var query = AvatarListQuery()
        query.owner = contact
        var keys: [AvatarKey] = []
        repeat {
            let page = try list(query)
            for item in page.items where item.owners == [contact] { keys.append(try AvatarKey(parsing: item.key)) }
            query.after = page.next
        } while query.after != nil
        return keys
    }
}
