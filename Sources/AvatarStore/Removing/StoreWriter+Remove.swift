import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

extension StoreWriter {
    /// Removes the entries for `keys`, and the files that no other entry uses, 512 keys in a transaction.
    ///
    /// - Parameter isNews: whether the sink learns of an erasure. Default: yes.
    func remove(
        _ keys: [AvatarKey],
        erasing: Bool,
        isNews: Bool = true,
        at now: Timestamp
    ) throws -> RemovalReceipt {
        var removal = Removal(erases: erasing, tellsSink: erasing && isNews, at: now)
        for start in stride(from: 0, to: keys.count, by: 512) {
            let batch = keys[start..<min(start + 512, keys.count)]
            try remove(&removal) { transaction, removal in
                for key in batch {
                    guard let state = try transaction.state(of: key) else {
                        try places.forgetPartial(of: key, in: transaction)
                        removal.receipt.unknown.append(key)
                        continue
                    }
                    try take(key, state: state, in: transaction, adding: &removal)
                }
            }
        }
        return try finish(&removal, contact: nil, keys: keys, erasing: erasing)
    }

    /// Unlinks and forgets `contact`, and removes the images that no other contact uses; for an erasure, also its former
    /// images.
    func remove(contact: String, erasing: Bool, at now: Timestamp) throws -> RemovalReceipt {
        var removal = Removal(erases: erasing, tellsSink: erasing, at: now)
        try remove(&removal) { transaction, removal in
            let images = try transaction.images(of: contact)
            removal.receipt.hasUnknownContact = try images.isEmpty && !transaction.hasContact(contact)
            for (id, key) in images {
                _ = try transaction.unlink(contact, from: id)
                guard try !transaction.hasOwner(id), let state = try transaction.state(of: key) else { continue }
                try take(key, state: state, in: transaction, adding: &removal)
            }
            removal.values += try ([contact] + transaction.names(of: contact)).map { Array($0.utf8) }
            removal.values += try transaction.addresses(of: contact)
            let words = erasing ? try transaction.eraseWords(of: contact) : []
            try transaction.removeContact(contact)
            guard erasing else { return }
            removal.values += words.map { Array($0.utf8) }
            removal.values += try eraseCards(of: contact, in: transaction).map { Array($0.utf8) }
            for key in try transaction.formerImages(of: contact) {
                guard let state = try transaction.state(of: key) else { continue }
                removal.hasFormer = true
                try take(key, state: state, in: transaction, adding: &removal)
            }
        }
        return try finish(&removal, contact: contact, keys: Array(removal.keys), erasing: erasing)
    }

    /// One transaction of a removal, then the unlinking of the files that it took from the index.
    private func remove(
        _ removal: inout Removal,
        _ body: (IndexTransaction, inout Removal) throws -> Void
    ) throws {
        var next = removal
        // If this throws, the transaction did not happen, and the receipt stays as it is.
        try evictor.makingRoom { _ in
            var attempt = removal
            attempt.retired = []
            try boot.markChanged()
            try write(.power) { try body($0, &attempt) }
            next = attempt
        }
        try pending.unlink(next.retired)
        next.receipt.files += next.retired.count
        next.receipt.bytes += next.retired.reduce(0) { $0 + $1.sizeBytes }
        removal = next
    }

    /// Removes one entry, and its file if no other entry uses it.
    private func take(
        _ key: AvatarKey,
        state: EntryState,
        in transaction: IndexTransaction,
        adding removal: inout Removal
    ) throws {
        try places.forgetPartial(of: key, in: transaction)
        removal.receipt.rows += 1
        removal.keys.insert(key)
        removal.values.append(Array(key.rawValue.utf8))
        if let url = state.sourceURL, url != key.rawValue { removal.values.append(Array(url.utf8)) }
        let digest = try state.fileID.flatMap { try transaction.digest(ofFile: $0) }
        if removal.erases {
            // The key is the URL of an earlier list if the present one has other parameters (`VolatileQuery`).
            let urls = try [state.sourceURL, key.isURL ? key.rawValue : nil, transaction.lowDataURL(of: state.id)]
            let all = Set(urls.compactMap(\.self))
            removal.urls.formUnion(all)
            if removal.tellsSink { try sink.erase(all.sorted(), digest: digest, at: removal.time, in: transaction) }
        }
        try transaction.removeEntry(id: state.id)
        guard let file = try state.fileID.flatMap({ try places.release($0, in: transaction) }) else { return }
        removal.retired.append(file)
        if let digest { removal.digests.append(digest) }
    }

    /// Finishes a removal; for an erasure, removes what the feed, the set-aside files and the write-ahead log still tell.
    private func finish(
        _ removal: inout Removal,
        contact: String?,
        keys: [AvatarKey],
        erasing: Bool
    ) throws -> RemovalReceipt {
        try evictor.makingRoom { _ in try settle() }
        guard erasing else { return removal.receipt }
        let isRemoval = removal.receipt.rows > 0 || contact != nil && !removal.receipt.hasUnknownContact
        let mark = contact.map { ErasedContact($0) }
        let isNamed = try evictor.makingRoom { _ in
            // Files that dead processes left in staging may be these very images.
            try pending.finishDeadHolders()
            return try write(.power) { transaction in
                let isNamed = try transaction.eraseChanges(
                    of: contact,
                    // Readers know by which contact to drop an image only while the contact has it.
                    as: removal.hasFormer ? nil : mark,
                    keys: keys,
                    isRemoval: isRemoval,
                    at: removal.time
                )
                try transaction.eraseUnusedHosts()
                return isNamed
            }
        }
        if isNamed { removal.receipt.hasUnknownContact = false }
        if !removal.receipt.hasUnknownContact, keys.count <= ErasureReceipt.maximumImages {
            let hasTier = try index.tierUse() != nil
            removal.receipt.erasure = ErasureReceipt(
                of: contact,
                as: mark,
                at: removal.time,
                keys: Set(keys),
                images: removal.digests,
                urls: hasTier ? removal.urls : []
            )
        }
        let documents = places.files(of: .documents)
        removal.receipt.traces = try documents.removeSetAside(digests: removal.digests, keys: Set(keys))
        removal.receipt.traces += index.removeSetAside()
        let values = removal.values
        removal.receipt.isErased = try evictor.makingRoom { _ in
            try index.truncateWAL() && index.removeRemnants(of: values)
        }
        // A file that could not be deleted may be one of these images.
        if !removal.receipt.traces.isEmpty || pending.hasLeftovers { removal.receipt.isErased = false }
        return removal.receipt
    }
}

/// The state of a removal: entries and files taken so far.
private struct Removal {
    var receipt = RemovalReceipt()
    /// Files taken by the last transaction.
    var retired: [PendingFile] = []
    /// The keys and digests of the whole removal, which an erasure looks for in other places.
    var keys: Set<AvatarKey> = []
    var digests: [[UInt8]] = []
    /// The texts and the address digests of the removed rows, which an erasure looks for in unused room of the index.
    var values: [[UInt8]] = []
    /// The URLs of the removed images.
    var urls: Set<String> = []
    /// Whether images went that the contact had before, and no more.
    var hasFormer = false
    /// Whether no trace is to be left.
    let erases: Bool
    /// Whether the sink learns of the removed images.
    let tellsSink: Bool
    /// When the removal began.
    let time: Timestamp

    init(erases: Bool, tellsSink: Bool, at time: Timestamp) {
        (self.erases, self.tellsSink, self.time) = (erases, tellsSink, time)
    }
}
