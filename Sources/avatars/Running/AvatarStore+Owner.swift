import AvatarStore

extension AvatarStore {
    /// The images that only `contact` uses: what `remove(contact:erasing:)` takes away.
    func keysUsedOnly(by contact: String, erasing: Bool) throws -> [AvatarKey] {
        var query = AvatarListQuery()
        query.owner = contact
        var keys: [AvatarKey] = []
        repeat {
            let page = try list(query)
            for item in page.items where item.owners == [contact] { keys.append(try AvatarKey(parsing: item.key)) }
            query.after = page.next
        } while query.after != nil
        return erasing ? try keys + formerImages(ofContact: contact) : keys
    }
}
