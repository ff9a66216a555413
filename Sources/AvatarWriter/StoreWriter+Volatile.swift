package import AvatarCore
import AvatarIndex

extension StoreWriter {
    /// Records the present URLs of short keys, and takes over images that contacts have under former keys. One transaction.
    package func adopt(_ urls: [ReducedURL]) throws {
        // A power loss may undo it, but not after a file is gone.
        try changeLinks(urls.contains { $0.former != nil } ? .power : .process) { publication in
            for url in urls { try publication.adopt(url) }
        }
    }
}

extension Publication {
    /// Records the present URL of a short key, and takes over the image that the contact has under a former key.
    fileprivate mutating func adopt(_ url: ReducedURL) throws {
        guard let former = url.former, let old = try transaction.state(of: former) else {
            try transaction.renew(url.url.rawValue, of: url.key)
            return
        }
        guard try makeWay(for: url.key) else { return }
        let id = try transaction.copyEntry(old.id, as: url.key, from: url.url.rawValue)
        try transaction.link(url.contact, to: id)
        if try transaction.unlink(url.contact, from: old.id) { try removeIfUnowned(old.id, key: former) }
        if let file = old.fileID { try places.relabel(file, in: transaction) }
    }

    /// Removes the entry of `key` if no contact uses it and it is not kept.
    ///
    /// - Returns: whether the key is free.
    private mutating func makeWay(for key: AvatarKey) throws -> Bool {
        guard let state = try transaction.state(of: key) else { return true }
        guard state.storageClass == .caches, try !transaction.hasOwner(state.id) else { return false }
        try places.forgetPartial(of: key, in: transaction)
        release(state.fileID)
        try transaction.removeEntry(id: state.id)
        return true
    }
}
