import AvatarCore
import AvatarFiles
import Foundation

/// What is asked of places beside a store's own: where a backup or an export goes, where a restored store is to be.
extension StoreLayout {
    /// `path` without slashes at its end.
    ///
    /// - Throws: `invalidConfiguration` for one that is not absolute, and for the root of all.
    static func absoluteDirectory(_ path: String) throws(AvatarStoreError) -> String {
        guard path.hasPrefix("/") else {
            throw AvatarStoreError(.invalidConfiguration, "The path \(path) is not absolute; give it from / on.")
        }
        var directory = path[...]
        while directory.hasSuffix("/") { directory.removeLast() }
        guard !directory.isEmpty else {
            throw AvatarStoreError(.invalidConfiguration, "A directory of its own is needed, not \(path).")
        }
        return String(directory)
    }

    /// - Throws: `invalidConfiguration` if `path` lies in one of the directories that the store is in.
    func requireOutside(_ path: String) throws(AvatarStoreError) {
        let inner = RealPath(path)
        let directories = [indexDirectory] + StorageClass.allCases.flatMap { [root(of: $0), staging(of: $0)] }
        for directory in directories where inner.isInside(RealPath(directory)) {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\(path) lies in \(directory), which is a store's; choose a place outside."
            )
        }
    }

    /// - Throws: `noStore` if there is no index.
    func requireIndex() throws(AvatarStoreError) {
        guard FileManager.default.fileExists(atPath: indexPath) else {
            throw AvatarStoreError(.noStore, "There is no store at \(indexPath).")
        }
    }
}
