import AvatarCore
import AvatarFiles
import AvatarIndex

/// The links between contacts and images, and the rule for an image that loses its last contact.
///
/// A change of an image links its contacts in the transaction that stores it (`StoreWriter+Apply.swift`). The files that
/// no entry uses after that are left as `Surplus`, for the end of the transaction.
extension StoreWriter {
    // MARK: On their own

    /// Links each contact to its entry.
    ///
    /// - Returns: the keys without an entry.
    func link(_ links: [(contact: String, key: AvatarKey)]) throws -> [AvatarKey] {
        try write { transaction in
            try links.compactMap { contact, key in
                guard let state = try transaction.state(of: key) else { return key }
                try transaction.link(contact, to: state.id)
                return nil
            }
        }
    }

    /// Unlinks contacts from entries. Images left without a contact stay or go, as `removeIfUnowned` decides.
    ///
    /// - Returns: the number of links that existed.
    @discardableResult
    package func unlink(_ links: [(contact: String, key: AvatarKey)]) throws -> Int {
        guard !links.isEmpty else { return 0 }
        let (count, retired) = try write(.power) { transaction in
            var surplus = Surplus()
            var count = 0
            for (contact, key) in links {
                guard let state = try transaction.state(of: key), try transaction.unlink(contact, from: state.id)
                else { continue }
                count += 1
                try removeIfUnowned(state.id, key: key, in: transaction, leaving: &surplus)
            }
            return (count, try surplus.files.compactMap { try release($0, in: transaction) })
        }
        try unlink(retired)
        try settle()
        return count
    }

    /// Unlinks in transactions of bounded length: other processes wait for them.
    package nonisolated func unlink(inBatches links: [(contact: String, key: AvatarKey)]) async throws {
        for start in stride(from: 0, to: links.count, by: 256) {
            try await unlink(Array(links[start..<min(start + 256, links.count)]))
        }
    }

    // MARK: With a change of the image

    /// Links the contacts to the entry. Once it has an image, they lose their former images.
    func link(
        _ change: Change,
        to id: Int64,
        hasImage: Bool,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        for contact in change.owners {
            // A contact's own image does not replace the fetched one.
            let replaces = change.host != nil || !change.key.isOwnImage
            guard hasImage || !replaces else {
                if !change.key.isEmailImage {
                    // The contact's URL changed again, and the image of the former URL is no longer wanted.
                    let superseded = try transaction.unlinkSuperseded(of: contact, by: id, keepsGone: change.keepsGone)
                    try removeIfUnowned(superseded, in: transaction, leaving: &surplus)
                }
                try transaction.link(contact, toComing: id)
                continue
            }
            // Most contacts have one image, so there is nothing to unlink.
            guard try transaction.linkAmongOthers(contact, to: id), replaces else { continue }
            try unlinkOthers(
                of: contact,
                keeping: id,
                key: change.key,
                keepsGone: change.keepsGone,
                in: transaction,
                leaving: &surplus
            )
        }
    }

    /// Unlinks the contact's other fetched images, once the entry `id` has an image.
    ///
    /// - Parameter keepsGone: whether candidates that are gone and have no file stay linked.
    func unlinkOthers(
        of contact: String,
        keeping id: Int64,
        key: AvatarKey,
        keepsGone: Bool,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        let others = try transaction.unlinkOtherFetchedImages(
            of: contact,
            keeping: id,
            andGone: keepsGone,
            andNone: key.isEmailImage
        )
        try removeIfUnowned(others, in: transaction, leaving: &surplus)
    }

    /// Applies the rule for images without contacts to several entries.
    private func removeIfUnowned(
        _ entries: [(id: Int64, key: AvatarKey)],
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        for (id, key) in entries {
            try removeIfUnowned(id, key: key, in: transaction, leaving: &surplus)
        }
    }

    // MARK: Images without a contact

    /// Removes those of `entries` that still have no contact and were not read meanwhile, if `Setting.keepUnlinked` is off.
    ///
    /// - Returns: the number of removed entries.
    func removeUnused(_ entries: [(id: Int64, key: AvatarKey)]) throws -> Int {
        let (count, retired) = try write(.power) { transaction in
            var surplus = Surplus()
            guard try transaction.value(of: .keepUnlinked) == 0 else { return (0, [PendingFile]()) }
            var count = 0
            for (id, key) in entries {
                guard let state = try transaction.state(of: key), state.id == id, state.nextCheck == nil,
                    state.storageClass == .caches, try !transaction.hasOwner(id)
                else { continue }
                try removeIfUnowned(id, key: key, in: transaction, leaving: &surplus)
                count += 1
            }
            return (count, try surplus.files.compactMap { try release($0, in: transaction) })
        }
        try unlink(retired)
        try settle()
        return count
    }

    /// An image without contacts stays until it is evicted, unless `Setting.keepUnlinked` is off. It is not checked
    /// again until a list or a read names it.
    ///
    /// An embedded photo is always removed, because no request could bring it back. A source's image for an e-mail
    /// address, or its "none", is removed too: it tells who the contact is.
    func removeIfUnowned(
        _ id: Int64,
        key: AvatarKey,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        guard try !transaction.hasOwner(id) else { return }
        guard try key.isContactPhoto || key.isEmailImage || transaction.value(of: .keepUnlinked) == 0 else {
            return try transaction.stopChecking(id)
        }
        if key.isEmailImage { try forgetPartial(of: key, transaction) }
        if let file = try transaction.fileID(of: id) { surplus.files.append(file) }
        try transaction.removeEntry(id: id)
    }
}
