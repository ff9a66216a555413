public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex

/// The result of a removal, or of its preview.
public struct RemovalReceipt: Hashable, Sendable {
    /// The entries that were removed.
    public var rows = 0
    /// The files that were removed because no other entry used them.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// The keys that had no entry.
    public var unknown: [AvatarKey] = []
    /// Whether the removal named a contact without images in the store. For an erasure, the contact has no change in
    /// the feed either.
    public var hasUnknownContact = false
    /// Whether an erasure is complete: no bytes, no URL and no contact id of it is left in the store. `false` without
    /// an erasure.
    public var isErased = false
    /// Paths of files that an erasure could not remove and that may hold traces.
    public var traces: [String] = []
    /// The erasure in the shared tier.
    public var tierErasure = TierErasureState.none
}

/// How far an erasure is carried out in the shared tier.
public enum TierErasureState: Hashable, Sendable {
    /// There is nothing to erase: no erasure was asked for, or the store has never used a shared tier.
    case none
    /// It waits in the index, because no tier is configured or the tier failed. The next sync with the tier carries it out.
    case waits
    /// The objects of the images are deleted, and a tombstone tells all other machines, which give the images up at their
    /// next syncs. Bytes that another image has too stay.
    case done(objects: Int)

    /// The objects deleted; `nil` unless the erasure is done.
    public var deletedObjects: Int? {
        guard case .done(let objects) = self else { return nil }
        return objects
    }
}

extension RemovalReceipt: CustomStringConvertible {
    /// The counts that are not 0, on one line. For logs: the text may change between versions.
    public var description: String {
        let counts = ReportText.counts([
            (rows, "entries removed"), (files, "files"), (bytes, "bytes"), (unknown.count, "unknown keys"),
            (hasUnknownContact ? 1 : 0, "unknown contact"), (traces.count, "files may hold traces"),
        ])
        return isErased ? "\(counts); erased" : counts
    }
}

/// The files that were evicted from `caches`, or would be.
public struct EvictionReport: Hashable, Sendable {
    /// The number of files.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0

    /// The report on `files` evicted files with `bytes` bytes in all.
    package init(files: Int = 0, bytes: Int = 0) {
        self.files = files
        self.bytes = bytes
    }
}

extension EvictionReport: CustomStringConvertible {
    /// The counts on one line. For logs: the text may change between versions.
    public var description: String { "\(files) files, \(bytes) bytes evicted" }
}

extension AvatarStore {
    /// Stores an image of your own under the key `name:NAME`. An image of the same name is replaced.
    ///
    /// On return the image is in the index and on disk. With the storage class `documents` it is on stable storage.
    /// Ignored bytes (`ignore(digests:)`) are stored too, because the caller chose them.
    /// - Parameter bytes: the bytes of the image file.
    /// - Parameter name: 1 to 1,024 bytes without NUL. It is never used as a path.
    /// - Parameter storageClass: where to store it. Default: `documents`.
    /// - Throws: `imageRefused` for bytes that are not an image, exceed `Setting.maximumImageBytes` or have more than
    ///   `Setting.maximumPixels` pixels; `invalidKey` for a name outside the limits; `overBudget` if no room can be
    ///   made in `caches`; `readOnly` in a store that is open for reading only; `diskFull`, also if less than
    ///   `Setting.minimumFree` is free; another error of the index or the disk.
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

    /// Removes the entry for `key`, and its file if no other entry uses it. As `remove(_:erasing:)` with one key.
    ///
    /// - Throws: as `remove(_:erasing:)` with several keys.
    @discardableResult
    public func remove(_ key: AvatarKey, erasing: Bool = false) async throws -> RemovalReceipt {
        try await remove([key], erasing: erasing)
    }

    /// Removes the entries for `keys`, and the files that no other entry uses. On return they are gone from the index
    /// and the disk. The receipt lists unknown keys.
    ///
    /// - Parameter keys: the entries to remove.
    /// - Parameter erasing: leaves no trace in the store. Default: no. An erasure also empties the
    ///   feed of changes, so that its readers start over (`startOver`), and removes indexes that were set aside and set-aside copies of the images, and empties the
    ///   write-ahead log. (Deleted rows are overwritten with zeros in any case.) `RemovalReceipt.isErased` tells
    ///   whether it is complete; it is not while another process reads an older snapshot for longer than the wait limit. An
    ///   erasure reaches the shared tier too (`RemovalReceipt.tierErasure`), and with it the other machines and the readers of
    ///   their feeds. It does not reach free blocks of the disk, backups, or another store that shares files with a backup.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk. Keys are
    ///   removed in batches of 512: those of earlier batches stay removed.
    public func remove(_ keys: [AvatarKey], erasing: Bool = false) async throws -> RemovalReceipt {
        var receipt = try await requireWritable().writer.remove(keys, erasing: erasing, at: clock.now())
        if erasing { receipt.tierErasure = try await eraseInTier() }
        return receipt
    }

    /// Carries out in the shared tier the erasures that wait in the index.
    private func eraseInTier() async throws -> TierErasureState {
        guard try index.tierErasures().contains(where: { $0.deleted == nil }) else { return .none }
        guard let tier = fetching.tier else { return .waits }
        do {
            return .done(objects: try await tier.erase())
        } catch is TierUnavailable {
            return .waits
        }
    }

    /// The receipt that `remove(_:erasing:)` would return. Changes nothing; possible in a store that is open for
    /// reading only.
    ///
    /// - Throws: an error of the index.
    public func removalPreview(_ keys: [AvatarKey]) throws -> RemovalReceipt {
        var receipt = RemovalReceipt()
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
    ///   reaches. An image that another contact uses stays, and so does its URL.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    public func remove(contact: String, erasing: Bool = false) async throws -> RemovalReceipt {
        var receipt = try await requireWritable().writer.remove(contact: contact, erasing: erasing, at: clock.now())
        if erasing { receipt.tierErasure = try await eraseInTier() }
        return receipt
    }

    /// Moves the image of `key` to `storageClass` in one step: at every moment it is in one of the two storage classes.
    ///
    /// On return the image is in the index and on disk; moved to `documents`, it is on stable storage.
    /// - Returns: `false` if it was in that storage class already.
    /// - Throws: `noSuchEntry` if there is no stored image, or its file is gone or damaged; `overBudget` if `caches`
    ///   has no room for it; `imageRefused` if the image exceeds limits that were lowered since it was stored; `busy`
    ///   if other processes replaced the image three times meanwhile; `readOnly` in a store that is open for reading
    ///   only; another error of the index or the disk.
    public func move(_ key: AvatarKey, to storageClass: StorageClass) async throws -> Bool {
        try await parts.move(key, to: storageClass)
    }

    /// Evicts files from `caches`, the least recently used first, until at most `target` bytes are left.
    ///
    /// - Parameter target: in bytes. Default: the low watermark.
    /// - Parameter progress: called with the bytes evicted so far.
    /// - Returns: the evicted files. A cancelled task stops after a batch of 1,024 files; the report counts those
    ///   evicted until then.
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    @discardableResult
    public func trim(
        to target: Int? = nil,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> EvictionReport {
        try await requireWritable().writer.trim(to: target ?? defaultTrimTarget(), progress: progress)
    }

    /// The report that `trim(to:progress:)` would return. Changes nothing; possible in a store that is open for reading
    /// only.
    ///
    /// - Parameter target: in bytes. Default: the low watermark.
    /// - Throws: an error of the index.
    public func trimPreview(to target: Int? = nil) throws -> EvictionReport {
        var plan = EvictionPlan(
            bytes: try index.total(of: .caches).accountedBytes,
            trimmingTo: try target ?? defaultTrimTarget()
        )
        try index.forEachEvictionCandidate { plan.offer(fileID: $0.fileID, sizeBytes: $0.sizeBytes) }
        return EvictionReport(files: plan.victims.count, bytes: plan.freed)
    }
}
