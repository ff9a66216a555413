import AvatarCore
import AvatarFiles
import AvatarIndex

extension StoreWriter {
    /// Retires the file if no entry uses it any more; to be unlinked after the commit.
    ///
    /// A document that others still use learns who they are: its label must not name an image that was removed.
    func release(_ file: Int64, _ transaction: IndexTransaction) throws -> PendingFile? {
        if let unused = try transaction.retireFileIfUnused(id: file, holder: places.holder.name) { return unused }
        if let path = try transaction.documentPath(ofFile: file) {
            let label = FileLabel(try transaction.users(ofFile: file))
            try places.files(of: .documents).label(published: path, label)
        }
        return nil
    }
}

extension FileLabel {
    /// The label of a file that these entries use.
    init(_ users: [(key: AvatarKey, sourceURL: String?)]) {
        self.init(keys: users.map(\.key.rawValue), originURL: users.lazy.compactMap(\.sourceURL).first)
    }
}
