import AvatarCore
import AvatarFiles
import AvatarIndex

/// Makes an index anew where it is damaged or lost, so that the files can be listed again.
struct IndexRebuild {
    private let layout: StoreLayout
    private let fileMode: UInt32

    init(_ layout: StoreLayout, fileMode: UInt32) {
        self.layout = layout
        self.fileMode = fileMode
    }

    /// Sets the index aside, empties `caches`, and puts an empty index of the same store in place.
    ///
    /// `caches` comes before the new index: what that does not count must not be there.
    /// - Throws: `busy` if another process has the store open.
    func run() throws {
        try requireNobody()
        let caches = try Directory.openRoot(layout.cachesRoot)
        let documents = try Directory.openRoot(layout.documentsRoot)
        let mark = RootMark(of: documents, in: try Directory.openRoot(layout.staging(of: .documents)))
        let id = try mark.owner() ?? Hexadecimal.random64() + Hexadecimal.random64()
        try AvatarIndex.setAside(at: layout.indexPath)
        try StoredFiles(root: caches).removePublishedFiles()
        try AvatarIndex.putInPlace(at: layout.indexPath, fileMode: fileMode, storeID: id)
    }

    private func requireNobody() throws {
        let staging = try Directory.openRoot(layout.staging(of: .documents))
        let names: [String]
        do throws(SystemCallError) {
            names = try Holder.names(in: staging)
        } catch {
            throw error.storeError
        }
        guard try names.allSatisfy({ try !Holder.isAlive($0, in: staging) }) else {
            throw AvatarStoreError(
                .busy,
                "Another process has the store open, whose index \(layout.indexPath) has to be made anew. End it and "
                    + "try again; nothing was changed."
            )
        }
    }
}
