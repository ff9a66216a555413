public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarWriter

extension AvatarStore {
    /// Stores an image of your own under the key `name:NAME`. An image of the same name is replaced.
    ///
    /// On return the image is in the index and on disk. With the storage class `documents` it is on stable storage.
    /// Ignored bytes (`ignore(digests:dryRun:)`) are stored too, because the caller chose them.
    /// - Parameter bytes: the bytes of the image file.
    /// - Parameter name: 1 to 1,024 bytes without NUL. It is never used as a path.
    /// - Parameter storageClass: where to store it. Default: `documents`.
    /// - Throws: `imageRefused` for bytes that are not an image, exceed `Setting.maximumImageBytes` or have more than
    ///   `Setting.maximumPixels` pixels; `invalidKey` for a name outside the limits; `overBudget` if no room can be
    ///   made in `caches`; `readOnly` in a store that is open for reading only; `diskFull` if the disk has, or would
    ///   have, less than `Setting.minimumFree` free; another error of the index or the disk.
    @discardableResult
    public func save(
        _ bytes: [UInt8],
        named name: String,
        in storageClass: StorageClass = .documents
    ) async throws -> AvatarKey {
        try await save(bytes, as: AvatarKey(name: name), of: [], in: storageClass)
    }

    /// Stores an image for a contact, under the key `name:contact/ID`, and links it. The image that an earlier call stored for the
    /// contact is replaced.
    ///
    /// It is the first of the contact's images: before embedded photos, before URLs of lists, before those of e-mail sources. No sync
    /// takes it away, not even one that prunes, and a sync asks no e-mail source about the contact. `remove(_:erasing:)` removes it,
    /// and `remove(contact:erasing:)`. The contact need not be in a list.
    ///
    /// - Parameter bytes: the bytes of the image file.
    /// - Parameter contact: the id of the contact: 1 to 1,016 bytes without NUL.
    /// - Parameter storageClass: where to store it. Default: `documents`.
    /// - Throws: as `save(_:named:in:)`; `invalidKey` for an id outside the limits.
    @discardableResult
    public func save(
        _ bytes: [UInt8],
        forContact contact: String,
        in storageClass: StorageClass = .documents
    ) async throws -> AvatarKey {
        try await save(bytes, as: AvatarKey(savedForContact: contact), of: [contact], in: storageClass)
    }

    private func save(
        _ bytes: [UInt8],
        as key: AvatarKey,
        of contacts: [String],
        in storageClass: StorageClass
    ) async throws -> AvatarKey {
        let writable = try requireWritable()
        let limits = try parts.limits()
        let image = try parts.intake(limits).stage(bytes, in: storageClass, at: writable.places)
        let change = Change(key: key, owners: contacts, content: .image(image, validation: nil))
        try await writable.writer.commitNow(change, RoomRules(limits)).requireStored(key)
        return key
    }

    /// Stores images of your own, each under the key `name:NAME` or for a contact, as if you saved them one after another, but
    /// many times faster.
    ///
    /// They are committed in batches of 256. On return all accepted images are in the index and on disk; documents are
    /// on stable storage. In `caches`, an image of an earlier batch may be evicted to make room for a later one.
    ///
    /// - Parameter images: the images. Of two with the same name the later one stays.
    /// - Parameter storageClass: where to store them. Default: `documents`.
    /// - Returns: for each image, in order, its key or the error `imageRefused`, `invalidKey` or `overBudget`, as
    ///   `save(_:named:in:)` throws it. One refused image does not affect the others.
    /// - Throws: `readOnly` in a store that is open for reading only; `diskFull`; another error of the index or the
    ///   disk; `CancellationError` if the task is cancelled. Batches that were committed before stay.
    @discardableResult
    public func save(
        _ images: [OwnImage],
        in storageClass: StorageClass = .documents
    ) async throws -> [Result<AvatarKey, AvatarStoreError>] {
        try await ImageSaving(parts, storageClass).run(images)
    }

    /// Removes the entry for `address`, and its file if no other entry uses it. As `remove(_:erasing:dryRun:)` with one key.
    ///
    /// - Throws: as `remove(_:erasing:dryRun:)` with several keys; `unsupportedURL` for an address that is no URL.
    @discardableResult
    public func remove(_ address: some AvatarAddress, erasing: Bool = false) async throws -> RemovalReceipt {
        try await remove([try address.avatarKey], erasing: erasing)
    }

    /// Removes the entries for `keys`, and the files that no other entry uses. On return they are gone from the index
    /// and the disk. The receipt lists unknown keys.
    ///
    /// - Parameter keys: the entries to remove.
    /// - Parameter erasing: leaves no trace in the store. Default: no. An erasure also deletes the changes of these images from
    ///   the feed, so that its readers start over (`startOver`), and removes indexes that were set aside and set-aside copies of the images, and empties the
    ///   write-ahead log. (Deleted rows are overwritten with zeros in any case.) `RemovalReceipt.isErased` tells
    ///   whether it is complete; it is not while another process reads an older snapshot for longer than the wait limit. An
    ///   erasure reaches the shared tier too (`RemovalReceipt.tierErasure`), and with it the other machines and the readers of
    ///   their feeds. It does not reach free blocks of the disk, backups, or another store that shares files with a backup.
    /// - Parameter dryRun: changes nothing and returns the receipt of a removal; possible in a store that is open for reading
    ///   only. Default: no.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk. Keys are
    ///   removed in batches of 512: those of earlier batches stay removed.
    @discardableResult
    public func remove(
        _ keys: [AvatarKey],
        erasing: Bool = false,
        dryRun: Bool = false
    ) async throws -> RemovalReceipt {
        if dryRun { return try removal(of: keys) }
        let stored = try keys.map { try storedKey(for: $0) }
        var receipt = try await requireWritable().writer.remove(stored, erasing: erasing, at: clock.now())
        if erasing { receipt.tierErasure = try await eraseInTier() }
        return receipt
    }

    /// Carries out in the shared tier the erasures that wait in the index.
    private func eraseInTier() async throws -> TierErasureState {
        guard try index.tierErasures().contains(where: { $0.deleted == nil }) else { return .none }
        return try await fetching.answers?.erase().map { .done(objects: $0) } ?? .waits
    }

    /// The receipt that `remove(_:erasing:dryRun:)` would return for `keys`.
    private func removal(of keys: [AvatarKey]) throws -> RemovalReceipt {
        var receipt = RemovalReceipt()
        let keys = try keys.map { try storedKey(for: $0) }
        let removed = Set(keys)
        var files: Set<Int64> = []
        for key in keys {
            guard let entry = try index.entry(for: key) else {
                receipt.unknown.append(key)
                continue
            }
            receipt.rows += 1
            guard let file = entry.file, !files.contains(file.id),
                try index.keys(usingFile: file.id).allSatisfy(removed.contains)
            else { continue }
            files.insert(file.id)
            receipt.files += 1
            receipt.bytes += file.sizeBytes
        }
        return receipt
    }

    /// Unlinks `contact` from all of its images, and removes the images that no other contact uses.
    ///
    /// - Parameter contact: the id of the contact.
    /// - Parameter erasing: leaves no trace of the contact and of those images, as in `remove(_:erasing:)`. Default:
    ///   no. It also removes earlier images of the contact that no contact uses now, as far back as the feed of changes
    ///   reaches. An image that another contact uses stays, and so does its URL. The feed tells the erasure by the hashed id of the
    ///   contact (`AvatarChange.Kind.erased`); if earlier images went, its readers start over.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    public func remove(contact: String, erasing: Bool = false) async throws -> RemovalReceipt {
        var receipt = try await requireWritable().writer.remove(contact: contact, erasing: erasing, at: clock.now())
        if erasing { receipt.tierErasure = try await eraseInTier() }
        return receipt
    }
}
