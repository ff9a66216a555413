public import AvatarCore

extension AvatarStore {
    /// Takes the pictures of a folder into the store.
    ///
    /// A file is stored as an own image under its name without the ending: `Ada.png` becomes `name:Ada`. Where
    /// `manifest.jsonl` names a file, the image gets the key, the class and the contacts that it had when
    /// `exportPictures` wrote it. An image that has a URL is due at once, as the folder does not prove what its origin
    /// has now; one that the store has already stays as it is.
    ///
    /// Each image is judged by its bytes; what is none is reported and left out, as are folders, symbolic links and names
    /// that lead out of the folder. Names that begin with a dot are passed over. Nothing in the folder is changed.
    /// Images that are stored are on stable storage when this returns, documents one by one.
    ///
    /// - Parameter directory: an absolute path.
    /// - Parameter storageClass: for all of them; default: what the manifest says, else documents.
    /// - Parameter progress: is told how far it has come.
    /// - Returns: what was done, also what could not be.
    /// - Throws: `unreadableList` for a manifest that cannot be read; an error of the folder, the index or the disk;
    ///   `CancellationError`: what was stored stays, and running it again goes on from there.
    public func importPictures(
        from directory: String,
        in storageClass: StorageClass? = nil,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ImportReport {
        _ = try requireWritable()
        return try await PictureImport(self, directory, storageClass, isPreview: false, progress).run()
    }

    /// What `importPictures` would do. Changes nothing, and is possible in a store that is open for reading only; whether
    /// there is room is not looked at.
    public func importPreview(
        from directory: String,
        in storageClass: StorageClass? = nil,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ImportReport {
        try await PictureImport(self, directory, storageClass, isPreview: true, progress).run()
    }
}
