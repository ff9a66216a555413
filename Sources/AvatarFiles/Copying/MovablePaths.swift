package import AvatarCore

extension StoreLayout {
    /// The quoted paths to move away so that another store can use the root of `storageClass`: the root and its mark, or
    /// the folder of both if it holds nothing else.
    package func movablePaths(of storageClass: StorageClass) -> String {
        let (root, staging) = (root(of: storageClass), staging(of: storageClass))
        let folder = Self.parent(of: root)
        if !root.isEmpty, folder != indexDirectory, isAlone(root, staging, in: folder) { return "\"\(folder)\"" }
        let paths = [root, RootMark.path(ofRoot: root, in: staging)].filter(Directory.exists)
        return (paths.isEmpty ? [root] : paths).map { "\"\($0)\"" }.joined(separator: " and ")
    }

    /// Whether `folder` holds nothing but `root` and `staging`.
    private func isAlone(_ root: String, _ staging: String, in folder: String) -> Bool {
        do throws(SystemCallError) {
            return try Directory(opening: folder).names().allSatisfy { [root, staging].contains(folder + "/" + $0) }
        } catch {
            return false
        }
    }
}
