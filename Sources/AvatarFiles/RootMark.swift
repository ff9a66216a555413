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
        try refusePipe()
        do throws(SystemCallError) {
            let owner = try readMark()
            return Self.isID(owner) ? owner : nil
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
        try refusePipe()
        do throws(SystemCallError) {
            if try makeMark(id) { return true }
            let owner = try readMark()
            // The maker was stopped before the mark was durable. A power loss leaves any bytes in such a file.
            guard Self.isID(owner) else {
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

    /// Whether `text` is a whole id: 32 hexadecimal digits.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
    }

    private var name: String { Self.name(ofRoot: root.path) }

    private static func name(ofRoot path: String) -> String {
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? "root"
        return last + ".store-id"
    }

    /// Opening a pipe in the place of the mark would wait for a writer; hence `O_NONBLOCK` too.
    private func refusePipe() throws(AvatarStoreError) {
        var information = stat()
        guard fstatat(staging.descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0,
            ![S_IFREG, S_IFLNK].contains(information.st_mode & S_IFMT)
        else { return }
        throw AvatarStoreError(
            .unusableRoot,
            "The mark \"\(staging.path)/\(name)\" must be a regular file, not a pipe, device or folder. "
                + "Move it out of the way."
        )
    }

    /// False if there is a mark already.
    private func makeMark(_ id: String) throws(SystemCallError) -> Bool {
        let file = openat(staging.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if file < 0 && errno == EEXIST { return false }
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { close(file) }
        try write(id, to: file)
        try LocalFileSystem().synchronize(staging.descriptor, named: staging.path)
        return true
    }

    private func overwriteMark(_ id: String) throws(SystemCallError) {
        let file = openat(staging.descriptor, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { close(file) }
        guard ftruncate(file, 0) == 0 else { throw SystemCallError("ftruncate", staging.path + "/" + name) }
        try write(id, to: file)
    }

    /// Durable on return: the documents of the root can be read only for as long as its mark is sound.
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
        try LocalFileSystem().synchronize(file, named: staging.path + "/" + name)
    }

    private func readMark() throws(SystemCallError) -> String {
        let file = openat(staging.descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name) }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, 256, 0))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
