import AvatarCore
import AvatarIndex

extension StoreWriter {
    /// Links each contact to its entry, and gives the keys that are not there.
    func link(_ links: [(contact: String, key: AvatarKey)]) throws -> [AvatarKey] {
        try write { transaction in
            try links.compactMap { contact, key in
                guard let state = try transaction.state(of: key) else { return key }
                try transaction.link(contact, to: state.id)
                return nil
            }
        }
    }

    /// Takes the entries from the contacts; what is left without an owner stays or goes, as the store is set.
    ///
    /// - Returns: how many links were there to be taken.
    @discardableResult
    func unlink(_ links: [(contact: String, key: AvatarKey)]) throws -> Int {
        guard !links.isEmpty else { return 0 }
        let (count, retired) = try write(.power) { transaction in
            var surplus = Surplus()
            var count = 0
            for (contact, key) in links {
                guard let state = try transaction.state(of: key), try transaction.unlink(contact, from: state.id)
                else { continue }
                count += 1
                try removeIfUnowned(state.id, key, transaction, &surplus)
            }
            return (count, try surplus.files.compactMap { try release($0, transaction) })
        }
        try unlink(retired)
        try settle()
        return count
    }

    /// An image that no contact uses any more stays until it is evicted, unless the store is set otherwise; its origin is asked
    /// again only once a list or a read names it. A photo that
    /// came inside a contact goes in any case: nobody would ever ask for it again. So does what a source has, or has not,
    /// for an e-mail address: it says who somebody is.
    func removeIfUnowned(
        _ id: Int64,
        _ key: AvatarKey,
        _ transaction: IndexTransaction,
        _ surplus: inout Surplus
    ) throws {
        guard try !transaction.hasOwner(id) else { return }
        guard try key.isContactPhoto || key.isEmailImage || transaction.value(of: .keepUnowned) == 0 else {
            return try transaction.stopChecking(id)
        }
        if key.isEmailImage { try forgetPartial(of: key, transaction) }
        if let file = try transaction.fileID(of: id) { surplus.files.append(file) }
        try transaction.removeEntry(id: id)
    }
}
