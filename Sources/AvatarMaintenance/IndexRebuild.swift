package import AvatarCore
package import AvatarFileSystem
import AvatarFiles
import AvatarIndex
package import AvatarReports
import AvatarStore
import AvatarWriter

/// Rebuilds an index that is damaged or lost, so that the files can be listed again.
package struct IndexRebuild {
    private let layout: StoreLayout
    private let fileSystem: any FileSystem
    private let fileMode: UInt32

    package init(_ layout: StoreLayout, on fileSystem: any FileSystem, fileMode: UInt32) {
        (self.layout, self.fileSystem, self.fileMode) = (layout, fileSystem, fileMode)
    }

    /// Sets the index aside, empties `caches`, and creates an empty index of the same store.
    ///
    /// `caches` is emptied before the new index is in place, because that index does not count its files.
    ///
    /// - Returns: the content that is lost, apart from documents.
    /// - Throws: `busy` if another process has the store open; `unusableRoot` if a root holds foreign files, or only
    ///   `caches` is left of the store, with nothing changed; an error of the disk.
    package func run() throws -> LostContent {
        if let error = try layout.lostStoreError(.unusableRoot, on: fileSystem) { throw error }
        try StorePlaces.refuseForeignFiles(layout, on: fileSystem)
        let mode = FileStore.directoryMode(for: fileMode)
        let caches = try Directory.makeRoot(layout.cachesRoot, on: fileSystem, mode: mode)
        let documents = try Directory.makeRoot(layout.documentsRoot, on: fileSystem, mode: mode)
        let staging = try Directory.makeRoot(layout.staging(of: .documents), on: fileSystem, mode: mode)
        try requireNoOtherProcess()
        let id =
            try RootMark(of: documents, in: staging).owner()
            ?? RootMark.owner(ofRoot: caches.path, in: layout.staging(of: .caches), on: fileSystem)
            ?? Hexadecimal.random64() + Hexadecimal.random64()
        var lost = LostContent()
        (lost.contacts, lost.settings) = AvatarIndex.countUnrecoverable(at: layout.indexPath, on: fileSystem)
        try AvatarIndex.setAside(at: layout.indexPath, on: fileSystem)
        lost.cachedImages = try StoredFiles(root: caches).removePublishedFiles()
        try AvatarIndex.putInPlace(at: layout.indexPath, on: fileSystem, fileMode: fileMode, storeID: id)
        return lost
    }

    /// - Throws: `busy` if another process has the store open.
    private func requireNoOtherProcess() throws {
        let staging = try Directory.openRoot(layout.staging(of: .documents), on: fileSystem)
        let names = try withStoreErrors { () throws(SystemCallError) in try Holder.names(in: staging) }
        guard try names.allSatisfy({ try !Holder.isAlive($0, in: staging) }) else {
            throw AvatarStoreError(
                .busy,
                "The index \"\(layout.indexPath)\" cannot be rebuilt while another process has the store open. Nothing was "
                    + "changed. Stop that process and try again."
            )
        }
    }
}
