public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex

/// What a removal took away.
public struct RemovalReceipt: Hashable, Sendable {
    /// Entries.
    public var rows = 0
    /// Files that no other entry used.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// Keys that were not there.
    public var unknown: [AvatarKey] = []
    /// Whether the removal named a contact that the store does not know: none of its images, and with an erasure none of
    /// the changes that the feed tells of.
    public var hasUnknownContact = false
    /// Whether nothing of it is left on the disk: no bytes, no URL, no contact's id. Only if that was asked for.
    public var isErased = false
    /// Files that an erasure could not remove, and that may hold traces.
    public var traces: [String] = []
}

extension AvatarStore {
    /// Stores an image of the caller's own under the key `name:NAME`; the same name replaces.
    ///
    /// On return it is in the index and on disk; a document is on stable storage.
    /// - Parameter bytes: the image's, as a file has them.
    /// - Parameter name: 1 to 1,024 bytes without NUL. Never a path: no name leads anywhere on disk.
    /// - Parameter storageClass: where it is stored. Default: `documents`.
    /// - Throws: `imageRefused` for bytes that are no image, or too many, or too many pixels; `invalidKey`;
    ///   `overBudget`; an error of the index or disk.
    @discardableResult
    public func save(
        _ bytes: [UInt8],
        named name: String,
        in storageClass: StorageClass = .documents
    ) async throws -> AvatarKey {
        let key = try AvatarKey(name: name)
        let writable = try requireWritable()
        let limits = try limits(mode: nil, ceiling: nil)
        let image = try stage(bytes, storageClass, limits, writable.places)
        let change = Change(key: key, sourceURL: nil, host: nil, content: .image(image, validation: nil))
        switch try await writable.writer.commitNow(change, RoomRules(limits)) {
        case .overBudget(let error), .superseded(let error): throw error
        case .stored, .recorded: return key
        }
    }

    /// Stores images of the caller's own, each under the key `name:NAME`: as if they were saved one after another, many
    /// times as fast.
    ///
    /// They are committed in batches of 256. On return all that are stored are in the index and on disk; documents are on
    /// stable storage. Images that are no longer used when room is needed are evicted, those of an earlier batch too.
    ///
    /// - Parameter images: the images. Of two with the same name the later one stays.
    /// - Parameter storageClass: where they are stored. Default: `documents`.
    /// - Returns: for each image, in their order, its key, or why it is not stored, as `save(_:named:in:)` would throw it:
    ///   `imageRefused`, `invalidKey` or `overBudget`. The others are stored all the same.
    /// - Throws: an error of the index or disk; `CancellationError`. Batches before that are stored and stay.
    @discardableResult
    public func save(
        _ images: [OwnImage],
        in storageClass: StorageClass = .documents
    ) async throws -> [Result<AvatarKey, AvatarStoreError>] {
        try await ImageSaving(self, storageClass).run(images)
    }

    /// Removes the entry for `key`, and its file if no other entry uses it.
    @discardableResult
    public func remove(_ key: AvatarKey, erasing: Bool = false) async throws -> RemovalReceipt {
        try await remove([key], erasing: erasing)
    }

    /// Removes the entries for `keys`, and the files that no other entry uses. Keys that are not there are named in the
    /// receipt. On return all of it is gone from index and disk.
    ///
    /// - Parameter keys: the entries to remove.
    /// - Parameter erasing: leaves no trace: deletes what the feed of changes tells of the images, indexes that were set
    ///   aside, and set-aside copies of the images, and empties the index's log. Rows are overwritten with zeros when they
    ///   are deleted in any case. The receipt says whether that is done; not if another process reads an older state
    ///   for longer than the wait limit. What is on the disk's free blocks, in backups, or in another store that shares
    ///   files with a backup, is not touched. Whoever reads the feed does not learn of it from there.
    public func remove(_ keys: [AvatarKey], erasing: Bool = false) async throws -> RemovalReceipt {
        try await requireWritable().writer.remove(keys, erasing: erasing)
    }

    /// What `remove(_:)` would take away. Possible in a store that is open for reading only.
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

    /// Unlinks `contact` from all of its images, and removes the images that nobody else uses.
    ///
    /// - Parameter contact: whose images.
    /// - Parameter erasing: leaves no trace of the contact and of those images, as `remove(_:erasing:)`. Also removes the
    ///   images that the contact had before, as far as the feed of changes reaches, and that no contact uses now. An image
    ///   that another contact uses stays, and so does its URL.
    public func remove(contact: String, erasing: Bool = false) async throws -> RemovalReceipt {
        try await requireWritable().writer.remove(contact: contact, erasing: erasing)
    }

    /// Moves the image of `key` to `storageClass` in one step: it is in one of the two classes at every moment.
    ///
    /// - Returns: whether it was in the other class.
    /// - Throws: `noSuchEntry` if the entry is unknown, or its file is gone or damaged; `overBudget` on the way to `caches`.
    public func move(_ key: AvatarKey, to storageClass: StorageClass) async throws -> Bool {
        // Should somebody replace the image meanwhile, the new one is moved.
        for _ in 0..<3 {
            if let isMoved = try await moveOnce(key, to: storageClass) { return isMoved }
        }
        throw AvatarStoreError(.busy, "\(key) changes faster than it can be moved; try again.", failure: .storage)
    }

    /// `nil` if the image was replaced while it was being copied.
    private func moveOnce(_ key: AvatarKey, to storageClass: StorageClass) async throws -> Bool? {
        let writable = try requireWritable()
        let limits = try limits(mode: nil, ceiling: nil)
        guard let entry = try index.entry(for: key), let file = entry.file else {
            throw AvatarStoreError(.noSuchEntry, "There is no stored image \(key) to move.")
        }
        guard file.storageClass != storageClass else { return false }
        guard let bytes = try roots.read(file) else {
            throw AvatarStoreError(.noSuchEntry, "The file of \(key) is gone; fetch it again.")
        }
        guard ContentDigest.sha256(bytes) == entry.sha256 else {
            throw AvatarStoreError(
                .noSuchEntry,
                "The file of \(key) is damaged. Fetch it with `--policy reload` or save it again."
            )
        }
        let image = try stage(bytes, storageClass, limits, writable.places)
        let change = Change(key: key, sourceURL: nil, host: nil, content: .moved(image, file: file.id))
        switch try await writable.writer.commitNow(change, RoomRules(limits)) {
        case .overBudget(let error): throw error
        case .superseded: return nil
        case .stored, .recorded: return true
        }
    }

    /// Evicts, least recently used first, until the files in `caches` are down to `target` bytes.
    ///
    /// - Parameter target: default: the low watermark.
    /// - Parameter progress: is told how far it has come.
    /// - Returns: how many files went, and their bytes, also if the task was cancelled meanwhile.
    @discardableResult
    public func trim(
        to target: Int? = nil,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> (files: Int, bytes: Int) {
        try await requireWritable().writer.trim(to: target ?? defaultTrimTarget(), progress: progress)
    }

    /// What `trim(to:)` would evict. Possible in a store that is open for reading only.
    public func trimPreview(to target: Int? = nil) throws -> (files: Int, bytes: Int) {
        var plan = EvictionPlan(
            bytes: try index.total(of: .caches).accountedBytes,
            trimmingTo: try target ?? defaultTrimTarget()
        )
        try index.forEachEvictionCandidate { plan.offer(fileID: $0.fileID, sizeBytes: $0.sizeBytes) }
        return (plan.victims.count, plan.freed)
    }

    func stage(
        _ bytes: [UInt8],
        _ storageClass: StorageClass,
        _ limits: Limits,
        _ places: StorePlaces
    ) throws -> StagedImage {
        try requireSize(bytes, limits)
        let file = try places.files(of: storageClass).stage()
        try file.write(bytes)
        return file.finish(as: try inspect(file, limits))
    }

    /// Makes sure that `bytes` are an image that `stage` would take.
    ///
    /// - Throws: `imageRefused`.
    func requireImage(_ bytes: [UInt8], _ limits: Limits) throws {
        try requireSize(bytes, limits)
        _ = try inspect(ByteArraySource(bytes), limits)
    }

    /// Whether the image of `key` has just these bytes, and its file is there.
    func isStored(_ bytes: [UInt8], as key: AvatarKey) throws -> Bool {
        guard let entry = try index.entry(for: key), let file = entry.file, roots.contains(file) else { return false }
        return entry.sha256 == ContentDigest.sha256(bytes)
    }

    private func requireSize(_ bytes: [UInt8], _ limits: Limits) throws {
        guard bytes.count > limits.maximumImageBytes else { return }
        throw AvatarStoreError(
            .imageRefused,
            "The image has \(bytes.count) bytes; the limit for one image is \(limits.maximumImageBytes).",
            failure: .tooLarge
        )
    }

    private func inspect(_ source: some ByteSource, _ limits: Limits) throws -> ImageDescription {
        let inspector = ImageInspector(maximumPixels: limits.maximumPixels, allowsSVG: configuration.allowsSVG)
        do {
            return try inspector.inspect(source)
        } catch let rejection as ImageRejection {
            throw AvatarStoreError(.imageRefused, rejection.message, failure: rejection.kind)
        }
    }
}
