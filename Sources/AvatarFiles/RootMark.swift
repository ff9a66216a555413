package import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Says which store a root belongs to: a small file in the staging folder beside it, named after the root.
///
/// Not in the root itself, which holds images only: every file there has its row, and their bytes are the budget's.
package struct RootMark {
    private let root: Directory
    private let staging: Directory

    package init(of root: Directory, in staging: Directory) {
        self.root = root
        self.staging = staging
    }

    /// Whether the root at `root` is taken, as the staging folder at `staging` says.
    package static func exists(ofRoot root: String, in staging: String) -> Bool {
        var information = stat()
        return stat(staging + "/" + name(ofRoot: root), &information) == 0
    }

    /// The store that the root belongs to; `nil` if it belongs to none.
    package func owner() throws(AvatarStoreError) -> String? {
        do throws(SystemCallError) {
            let owner = try readMark()
            return owner.utf8.count == 32 ? owner : nil
        } catch {
            if error.isMissing { return nil }
            throw error.storeError
        }
    }

    /// Takes the root for the store `id`, or finds that it is taken.
    ///
    /// - Returns: whether the root belonged to no store before.
    /// - Throws: `unusableRoot` if the root belongs to another store.
    @discardableResult
    package func claim(_ id: String) throws(AvatarStoreError) -> Bool {
        do throws(SystemCallError) {
            if try makeMark(id) { return true }
            let owner = try readMark()
            // A mark whose maker was stopped while it wrote it; the id was in the index before.
            if owner.utf8.count < 32 && id.hasPrefix(owner) {
                try overwriteMark(id)
                return true
            }
            guard owner == id else {
                throw SystemCallError("claim", root.path, number: EEXIST)
            }
            return false
        } catch {
            guard error.call == "claim" else { throw error.storeError }
            throw AvatarStoreError(
                .unusableRoot,
                "\(root.path) belongs to another store. Give each store roots of its own, or restore its index."
            )
        }
    }

    /// Gives the root up.
    package func remove() {
        // Should this fail, the mark names a store of which nothing is left; it is overwritten only by hand.
        unlinkat(staging.descriptor, name, 0)
    }

    private var name: String { Self.name(ofRoot: root.path) }

    private static func name(ofRoot path: String) -> String {
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? "root"
        return last + ".store-id"
    }

    /// False if there is a mark already.
    private func makeMark(_ id: String) throws(SystemCallError) -> Bool {
        let file = openat(staging.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if file < 0 && errno == EEXIST { return false }
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { close(file) }
        try write(id, to: file)
        return true
    }

    private func overwriteMark(_ id: String) throws(SystemCallError) {
        let file = openat(staging.descriptor, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { close(file) }
        try write(id, to: file)
    }

    private func write(_ id: String, to file: Int32) throws(SystemCallError) {
        var text = id
        let failure = text.withUTF8 { bytes -> SystemCallError? in
            do throws(SystemCallError) {
                try LocalFileSystem().write(UnsafeRawBufferPointer(bytes), to: file, at: 0, named: name)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    private func readMark() throws(SystemCallError) -> String {
        let file = openat(staging.descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, 256, 0))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
