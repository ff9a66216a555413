import AvatarCore
import AvatarFiles
import AvatarIndex

extension StoreWriter {
    /// Records the present URLs of short keys, and takes over images that contacts have under former keys. One transaction.
    func adopt(_ urls: [ReducedURL]) throws {
        // A power loss may undo it, but not after a file is gone.
        let retired = try write(urls.contains { $0.former != nil } ? .power : .process) { transaction in
            var surplus = Surplus()
            for url in urls {
                guard let former = url.former, let old = try transaction.state(of: former) else {
                    try transaction.renew(url.url.rawValue, of: url.key)
                    continue
                }
                guard try makeWay(for: url.key, in: transaction, leaving: &surplus) else { continue }
                let id = try transaction.copyEntry(old.id, as: url.key, from: url.url.rawValue)
                try transaction.link(url.contact, to: id)
                if try transaction.unlink(url.contact, from: old.id) {
                    try removeIfUnowned(old.id, key: former, in: transaction, leaving: &surplus)
                }
                try relabel(old.fileID, in: transaction)
            }
            return try surplus.files.compactMap { try release($0, in: transaction) }
        }
        try unlink(retired)
        try settle()
    }

    /// Removes the entry of `key` if no contact uses it and it is not kept.
    ///
    /// - Returns: whether the key is free.
    private func makeWay(
        for key: AvatarKey,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> Bool {
        guard let state = try transaction.state(of: key) else { return true }
        guard state.storageClass == .caches, try !transaction.hasOwner(state.id) else { return false }
        try forgetPartial(of: key, transaction)
        if let file = state.fileID { surplus.files.append(file) }
        try transaction.removeEntry(id: state.id)
        return true
    }

    /// Writes the keys of a document beside it: another one has been added.
    private func relabel(_ file: Int64?, in transaction: IndexTransaction) throws {
        guard let file, let path = try transaction.documentPath(ofFile: file) else { return }
        try places.files(of: .documents).label(published: path, FileLabel(try transaction.users(ofFile: file)))
    }
}
