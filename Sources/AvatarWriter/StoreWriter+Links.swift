package import AvatarCore
import AvatarIndex

/// Changes of links between contacts and images without a change of the image (for that, see `Publication`).
extension StoreWriter {
    /// Links each contact to its entry.
    ///
    /// - Returns: the keys without an entry.
    package func link(_ links: [(contact: String, key: AvatarKey)]) throws -> [AvatarKey] {
        try write { transaction in
            try links.compactMap { contact, key in
                guard let state = try transaction.state(of: key) else { return key }
                try transaction.link(contact, to: state.id)
                return nil
            }
        }
    }

    /// Unlinks contacts from entries. Images left without a contact stay or go, as `Publication.removeIfUnowned` decides.
    ///
    /// - Returns: the number of links that existed.
    @discardableResult
    package func unlink(_ links: [(contact: String, key: AvatarKey)]) throws -> Int {
        guard !links.isEmpty else { return 0 }
        return try changeLinks { publication in
            var count = 0
            for (contact, key) in links {
                let transaction = publication.transaction
                guard let state = try transaction.state(of: key), try transaction.unlink(contact, from: state.id)
                else { continue }
                count += 1
                try publication.removeIfUnowned(state.id, key: key)
            }
            return count
        }
    }

    /// Unlinks in transactions of bounded length: other processes wait for them.
    package nonisolated func unlink(inBatches links: [(contact: String, key: AvatarKey)]) async throws {
        for start in stride(from: 0, to: links.count, by: 256) {
            try await unlink(Array(links[start..<min(start + 256, links.count)]))
        }
    }

    /// Makes all files durable, if images are to be removed with `links` because others have replaced them.
    package func synchronizeSuccessors(of links: [(contact: String, key: AvatarKey)]) throws {
        guard !links.isEmpty else { return }
        let removes = try index.value(of: .keepUnlinked) == 0
        guard removes || links.contains(where: { $0.key.isContactPhoto || $0.key.isEmailImage }) else { return }
        try boot.synchronizeFiles()
    }

    /// Removes those of `entries` that still have no contact and were not read meanwhile, if `Setting.keepUnlinked` is off.
    ///
    /// - Returns: the number of removed entries.
    package func removeUnused(_ entries: [(id: Int64, key: AvatarKey)]) throws -> Int {
        try changeLinks { publication in
            let transaction = publication.transaction
            guard try transaction.value(of: .keepUnlinked) == 0 else { return 0 }
            var count = 0
            for (id, key) in entries {
                guard let state = try transaction.state(of: key), state.id == id, state.nextCheck == nil,
                    state.storageClass == .caches, try !transaction.hasOwner(id)
                else { continue }
                try publication.removeIfUnowned(id, key: key)
                count += 1
            }
            return count
        }
    }

    /// Changes links in one transaction, then deletes the files without a use.
    ///
    /// - Returns: the result of `body`.
    func changeLinks<Result>(
        _ durability: AvatarIndex.Durability = .power,
        _ body: (inout Publication) throws -> Result
    ) throws -> Result {
        let (result, retired) = try write(durability) { transaction in
            var publication = try Publication(transaction, places, accesses, since: nil, isDurable: true)
            return (try body(&publication), try publication.finish())
        }
        try pending.unlink(retired)
        try settle()
        return result
    }
}
