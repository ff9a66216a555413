package import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

extension StoreParts {
    /// Moves the image of `key` to `storageClass`, as `AvatarStore.move(_:to:)`, which calls this. A read or a sync that
    /// wants an image as a document calls it too.
    ///
    /// - Returns: `false` if it was in that storage class already.
    /// - Throws: as `AvatarStore.move(_:to:)`.
    package func move(_ key: AvatarKey, to storageClass: StorageClass) async throws -> Bool {
        // Another process may replace the image meanwhile; then the new one is moved.
        for _ in 0..<3 {
            if let isMoved = try await moveOnce(key, to: storageClass) { return isMoved }
        }
        throw AvatarStoreError(
            .busy,
            "\(key) was not moved: it was replaced three times meanwhile. Try again.",
            failure: .storage
        )
    }

    /// One attempt; `nil` if the image was replaced while it was copied.
    private func moveOnce(_ key: AvatarKey, to storageClass: StorageClass) async throws -> Bool? {
        let writable = try requireWritable()
        let limits = try limits()
        guard let entry = try index.entry(for: key), let file = entry.file else {
            throw AvatarStoreError(.noSuchEntry, "\(key) cannot be moved: no image is stored for it.")
        }
        guard file.storageClass != storageClass else { return false }
        guard let bytes = try roots.read(file) else {
            throw AvatarStoreError(
                .noSuchEntry,
                "\(key) cannot be moved: its file is gone. Fetch it with `--policy reload` or save it again."
            )
        }
        guard ContentDigest.sha256(bytes) == entry.sha256 else {
            throw AvatarStoreError(
                .noSuchEntry,
                "\(key) cannot be moved: its file is damaged. Fetch it with `--policy reload` or save it again."
            )
        }
        let image = try intake(limits).stage(bytes, in: storageClass, at: writable.places)
        let change = Change(key: key, sourceURL: nil, host: nil, content: .moved(image, file: file.id))
        let committed = try await writable.writer.commitNow(change, RoomRules(limits))
        if committed.wasChangedMeanwhile { return nil }
        try committed.requireStored(key)
        return true
    }
}
