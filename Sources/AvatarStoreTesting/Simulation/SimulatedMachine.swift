import AvatarFoundation
import Synchronization

/// A failed call.
struct Errno: Error {
    let number: Int32

    init(_ number: Int32) { self.number = number }
}

/// A machine without its processes: a disk, and all that they have open and locked. Its methods are calls of the system, for any
/// process, as plain changes of a value; `SimulatedDisk` lets processes make them one after another.
struct SimulatedMachine: Sendable {
    /// An open file or folder.
    private struct Opening {
        let node: DiskImage.Inode
        let process: Int
        let path: String
        let flags: Int32
        /// Whether a synchronization through another opening lost bytes, as this one is to be told once (`errseq`).
        var hasLostBytes = false
    }

    /// The locks on a file.
    private struct Locks {
        /// `flock`: the openings that share it, or the one that has it.
        var shared: Set<Int32> = []
        var exclusive: Int32?
        /// Single bytes, by offset.
        var bytes: [Int: Int32] = [:]
    }

    /// The disk.
    private(set) var image: DiskImage
    /// The most bytes that all files may have together.
    var capacity: Int
    /// Whether the power is off: no call is made any more.
    var isOff = false
    /// The number of calls so far.
    private(set) var callCount = 0
    private var openings: [Int32: Opening] = [:]
    private var locks: [DiskImage.Inode: Locks] = [:]
    private var databases: [DiskImage.Inode: DatabaseLocks] = [:]
    private var dead: Set<Int> = []
    /// The time, in nanoseconds since 1970.
    private var time: Int64

    /// Descriptors of all machines differ, and from those of the system.
    private static let lastDescriptor = Atomic<Int32>(1 << 24)

    init(_ image: DiskImage, capacity: Int) {
        (self.image, self.capacity) = (image, capacity)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        time = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    // MARK: Processes

    /// Counts a call of `process`, which takes a microsecond.
    ///
    /// - Returns: the number of the call.
    /// - Throws: `EIO` if the process was killed or the power is off.
    mutating func begin(_ process: Int) throws(Errno) -> Int {
        guard isAlive(process) else { throw Errno(EIO) }
        callCount += 1
        time += 1000
        return callCount
    }

    func isAlive(_ process: Int) -> Bool { !isOff && !dead.contains(process) }

    /// Kills a process: its files are closed, and its locks are free.
    mutating func end(_ process: Int) {
        dead.insert(process)
        for (file, opening) in openings where opening.process == process { close(file, opening) }
    }

    /// The path by which a file was opened.
    func path(of file: Int32) -> String { openings[file]?.path ?? "" }

    private func opening(_ file: Int32) throws(Errno) -> Opening {
        guard let opening = openings[file] else { throw Errno(EBADF) }
        return opening
    }

    private mutating func open(_ node: DiskImage.Inode, by process: Int, _ path: String, _ flags: Int32) -> Int32 {
        let descriptor = Self.lastDescriptor.add(1, ordering: .relaxed).newValue
        openings[descriptor] = Opening(node: node, process: process, path: path, flags: flags)
        image.nodes[node]?.openings += 1
        return descriptor
    }

    mutating func close(_ file: Int32) throws(Errno) {
        close(file, try opening(file))
    }

    private mutating func close(_ file: Int32, _ opening: Opening) {
        openings[file] = nil
        image.nodes[opening.node]?.openings -= 1
        if var locks = locks[opening.node] {
            locks.shared.remove(file)
            if locks.exclusive == file { locks.exclusive = nil }
            locks.bytes = locks.bytes.filter { $0.value != file }
            self.locks[opening.node] = locks
        }
        databases[opening.node]?.release(file)
    }
}

// MARK: - Names

extension SimulatedMachine {
    /// The place of a path: a folder, the last name, and what it names.
    private struct Place {
        let folder: DiskImage.Inode
        let name: String
        let node: DiskImage.Inode?
    }

    /// The place of `path`, which begins in the open folder `directory` unless it is absolute.
    private func resolve(_ path: String, from directory: Int32, followsLast: Bool, passesLinks: Bool = true)
        throws(Errno) -> Place
    {
        let folder = path.hasPrefix("/") ? DiskImage.root : try opening(directory).node
        return try resolve(path, in: folder, followsLast: followsLast, passesLinks: passesLinks, 0)
    }

    private func resolve(
        _ path: String,
        in folder: DiskImage.Inode,
        followsLast: Bool,
        passesLinks: Bool,
        _ depth: Int
    ) throws(Errno) -> Place {
        guard depth < 40 else { throw Errno(ELOOP) }
        guard !path.isEmpty else { throw Errno(ENOENT) }
        var folder = path.hasPrefix("/") ? DiskImage.root : folder
        let parts = path.split(separator: "/").map(String.init)
        guard let last = parts.last else { return Place(folder: folder, name: ".", node: folder) }
        for part in parts.dropLast() { folder = try step(part, in: folder, passesLinks: passesLinks, depth) }
        guard let here = image.nodes[folder], here.kind == .folder else { throw Errno(ENOTDIR) }
        if last == "." { return Place(folder: folder, name: last, node: folder) }
        if last == ".." { return Place(folder: folder, name: last, node: here.parent) }
        guard last.utf8.count <= 255 else { throw Errno(ENAMETOOLONG) }
        let node = here.entries[last]
        if followsLast, let node, let link = image.nodes[node], link.kind == .link {
            return try target(of: link, in: folder, depth)
        }
        return Place(folder: folder, name: last, node: node)
    }

    private func step(_ part: String, in folder: DiskImage.Inode, passesLinks: Bool, _ depth: Int)
        throws(Errno) -> DiskImage.Inode
    {
        guard let here = image.nodes[folder], here.kind == .folder else { throw Errno(ENOTDIR) }
        if part == "." { return folder }
        if part == ".." { return here.parent }
        guard let next = here.entries[part], let node = image.nodes[next] else { throw Errno(ENOENT) }
        guard node.kind == .link else { return next }
        guard passesLinks else { throw Errno(ELOOP) }
        guard let found = try target(of: node, in: folder, depth).node else { throw Errno(ENOENT) }
        return found
    }

    /// The place to which a link in `folder` leads.
    private func target(of link: DiskImage.Node, in folder: DiskImage.Inode, _ depth: Int) throws(Errno) -> Place {
        let path = String(decoding: link.content, as: UTF8.self)
        return try resolve(path, in: folder, followsLast: true, passesLinks: true, depth + 1)
    }

    /// Whether `folder` is `ancestor` or lies below it.
    private func isInside(_ folder: DiskImage.Inode, _ ancestor: DiskImage.Inode) -> Bool {
        var folder = folder
        while folder != ancestor {
            guard folder != DiskImage.root, let parent = image.nodes[folder]?.parent else { return false }
            folder = parent
        }
        return true
    }

    /// Gives a place its node; `nil`: the name goes.
    private mutating func setName(_ place: Place, to node: DiskImage.Inode?) {
        image.setNames([.init(folder: place.folder, name: place.name, node: node)], at: time)
    }

    mutating func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32, by process: Int)
        throws(Errno) -> Int32
    {
        let isExclusive = flags & O_EXCL != 0 && flags & O_CREAT != 0
        let place = try resolve(path, from: directory, followsLast: flags & O_NOFOLLOW == 0 && !isExclusive)
        var node = place.node
        if let found = node.flatMap({ image.nodes[$0] }) {
            if isExclusive { throw Errno(EEXIST) }
            if found.kind == .link { throw Errno(ELOOP) }
            if flags & O_DIRECTORY != 0, found.kind != .folder { throw Errno(ENOTDIR) }
            if found.kind == .folder, flags & O_ACCMODE != O_RDONLY { throw Errno(EISDIR) }
        } else {
            guard flags & O_CREAT != 0 else { throw Errno(ENOENT) }
            node = image.makeNode(.file, mode: mode & 0o777, at: time)
            setName(place, to: node)
        }
        guard let node else { throw Errno(ENOENT) }
        if flags & O_TRUNC != 0 { image.change(node, .length(0), at: time) }
        return open(node, by: process, path, flags)
    }

    mutating func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32, by process: Int) throws(Errno)
        -> Int32
    {
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else { throw Errno(EXDEV) }
        let place = try resolve(path, from: directory, followsLast: false, passesLinks: false)
        guard let node = place.node, let found = image.nodes[node] else { throw Errno(ENOENT) }
        if found.kind == .link { throw Errno(ELOOP) }
        if flags & O_DIRECTORY != 0, found.kind != .folder { throw Errno(ENOTDIR) }
        return open(node, by: process, path, flags)
    }

    mutating func renameat(_ from: Int32, _ source: String, _ to: Int32, _ target: String) throws(Errno) {
        let old = try resolve(source, from: from, followsLast: false)
        let new = try resolve(target, from: to, followsLast: false)
        guard let node = old.node else { throw Errno(ENOENT) }
        if isInside(new.folder, node) { throw Errno(EINVAL) }
        if let target = new.node, isInside(old.folder, target) { throw Errno(ENOTEMPTY) }
        if new.node == node { return }
        if let replaced = new.node.flatMap({ image.nodes[$0] }) {
            let isFolder = image.nodes[node]?.kind == .folder
            if replaced.kind == .folder, !isFolder { throw Errno(EISDIR) }
            if replaced.kind != .folder, isFolder { throw Errno(ENOTDIR) }
            guard replaced.entries.isEmpty else { throw Errno(ENOTEMPTY) }
        }
        image.setNames(
            [
                .init(folder: old.folder, name: old.name, node: nil),
                .init(folder: new.folder, name: new.name, node: node),
            ],
            at: time
        )
    }

    mutating func linkat(_ from: Int32, _ source: String, _ to: Int32, _ target: String) throws(Errno) {
        let old = try resolve(source, from: from, followsLast: false)
        let new = try resolve(target, from: to, followsLast: false)
        guard let node = old.node else { throw Errno(ENOENT) }
        guard new.node == nil else { throw Errno(EEXIST) }
        guard image.nodes[node]?.kind != .folder else { throw Errno(EPERM) }
        setName(new, to: node)
    }

    mutating func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) throws(Errno) {
        let place = try resolve(path, from: directory, followsLast: false)
        guard let node = place.node, let found = image.nodes[node] else { throw Errno(ENOENT) }
        if flags & AT_REMOVEDIR != 0 {
            guard found.kind == .folder else { throw Errno(ENOTDIR) }
            guard found.entries.isEmpty else { throw Errno(ENOTEMPTY) }
        } else if found.kind == .folder {
            throw Errno(EISDIR)
        }
        setName(place, to: nil)
    }

    mutating func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) throws(Errno) {
        let place = try resolve(path, from: directory, followsLast: false)
        guard place.node == nil else { throw Errno(EEXIST) }
        setName(place, to: image.makeNode(.folder, mode: mode & 0o777, parent: place.folder, at: time))
    }

    /// Makes a symbolic link at the absolute `path`.
    mutating func symlink(_ target: String, at path: String) throws(Errno) {
        let place = try resolve(path, from: -1, followsLast: false)
        let made = image.makeNode(.link, mode: 0o777, at: time)
        image.nodes[made]?.content = Data(target.utf8)
        setName(place, to: made)
    }

    /// Puts a file with `bytes` at the absolute `path`, on stable storage, with its folders.
    mutating func put(_ bytes: [UInt8], at path: String) {
        var folder = DiskImage.root
        let parts = path.split(separator: "/").map(String.init)
        for part in parts.dropLast() {
            if let found = image.nodes[folder]?.entries[part] {
                folder = found
            } else {
                let made = image.makeNode(.folder, mode: 0o700, parent: folder, at: time)
                setName(Place(folder: folder, name: part, node: nil), to: made)
                folder = made
            }
        }
        guard let name = parts.last else { return }
        let made = image.makeNode(.file, mode: 0o600, at: time)
        setName(Place(folder: folder, name: name, node: nil), to: made)
        image.change(made, .bytes(Data(bytes), at: 0), at: time)
        image.synchronizeAll()
    }
}

// MARK: - Content

extension SimulatedMachine {
    /// Reads into `buffer`; with `isShort` a part of what was asked for.
    ///
    /// - Returns: the number of bytes read; 0 behind the end of the file.
    func pread(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int, isShort: Bool)
        throws(Errno) -> Int
    {
        guard let found = image.nodes[try opening(file).node] else { throw Errno(EBADF) }
        guard found.kind == .file else { throw Errno(EISDIR) }
        var read = max(0, min(count, found.content.count - offset))
        if isShort, read > 1 { read = read / 2 }
        guard read > 0, let buffer else { return read }
        found.content.copyBytes(to: buffer.assumingMemoryBound(to: UInt8.self), from: offset..<(offset + read))
        return read
    }

    /// Writes the bytes; with `isShort` the first half of them.
    ///
    /// - Returns: the number of bytes written.
    mutating func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int, isShort: Bool)
        throws(Errno) -> Int
    {
        let opening = try opening(file)
        guard opening.flags & O_ACCMODE != O_RDONLY else { throw Errno(EBADF) }
        let count = isShort && count > 1 ? count - count / 2 : count
        let growth = offset + count - (image.nodes[opening.node]?.content.count ?? 0)
        if growth > 0, image.byteCount + growth > capacity { throw Errno(ENOSPC) }
        let bytes = buffer.map { Data(bytes: $0, count: count) } ?? Data()
        image.change(opening.node, .bytes(bytes, at: offset), at: time)
        return bytes.count
    }

    mutating func ftruncate(_ file: Int32, _ length: Int) throws(Errno) {
        let opening = try opening(file)
        guard opening.flags & O_ACCMODE != O_RDONLY else { throw Errno(EINVAL) }
        image.change(opening.node, .length(length), at: time)
    }

    mutating func fsync(_ file: Int32) throws(Errno) {
        let node = try opening(file).node
        if image.reportLoss(node) { throw Errno(EIO) }
        if openings[file]?.hasLostBytes == true {
            openings[file]?.hasLostBytes = false
            throw Errno(EIO)
        }
        image.synchronize(node)
    }

    /// A synchronization that fails, and loses the bytes of the file.
    ///
    /// - Parameter drops: whether they cannot be read any more either.
    mutating func failFsync(_ file: Int32, drops: Bool = false) throws(Errno) {
        let node = try opening(file).node
        image.lose(node)
        if drops { image.drop(node) }
        for (other, opening) in openings where other != file && opening.node == node {
            openings[other]?.hasLostBytes = true
        }
    }

    /// Reads have what is on the disk from now on.
    mutating func dropCaches() { image.dropAll() }

    mutating func syncfs() { image.synchronizeAll() }

    /// A synchronization that fails, and loses the bytes of all files.
    mutating func failSyncfs() { image.loseAll() }

    mutating func setAttribute(_ file: Int32, _ name: String, _ bytes: UnsafeRawPointer?, _ count: Int) throws(Errno) {
        let value = count == 0 ? nil : Array(UnsafeRawBufferPointer(start: bytes, count: count))
        image.change(try opening(file).node, .attribute(name, value), at: time)
    }

    /// Copies an attribute into a buffer of `count` bytes; with 0 bytes only its length is asked for.
    func attribute(_ file: Int32, _ name: String, _ buffer: UnsafeMutableRawPointer?, _ count: Int)
        throws(Errno) -> Int
    {
        guard let value = image.nodes[try opening(file).node]?.attributes[name] else { throw Errno(ENODATA) }
        guard value.count <= count || count == 0 else { throw Errno(ERANGE) }
        if count > 0 { UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: value) }
        return value.count
    }
}

// MARK: - Looking

extension SimulatedMachine {
    /// The bytes that files may still take.
    var freeBytes: Int { max(0, capacity - image.byteCount) }

    func fstat(_ file: Int32) throws(Errno) -> stat {
        try information(opening(file).node)
    }

    func fstatat(_ directory: Int32, _ path: String, _ flags: Int32) throws(Errno) -> stat {
        let place = try resolve(path, from: directory, followsLast: flags & AT_SYMLINK_NOFOLLOW == 0)
        guard let node = place.node else { throw Errno(ENOENT) }
        return try information(node)
    }

    private func information(_ inode: DiskImage.Inode) throws(Errno) -> stat {
        guard let node = image.nodes[inode] else { throw Errno(EBADF) }
        var information = stat()
        information.st_dev = 7
        information.st_ino = numericCast(inode)
        let kind: mode_t =
            switch node.kind {
            case .file: S_IFREG
            case .folder: S_IFDIR
            case .link: S_IFLNK
            }
        information.st_mode = kind | mode_t(node.mode)
        information.st_nlink = numericCast(max(0, node.kind == .folder && node.linkCount > 0 ? 2 : node.linkCount))
        if inode == DiskImage.root { information.st_nlink = 2 }
        information.st_uid = geteuid()
        information.st_gid = getegid()
        information.st_size = off_t(node.content.count)
        let time = timespec(tv_sec: Int(node.changed / 1_000_000_000), tv_nsec: Int(node.changed % 1_000_000_000))
        #if canImport(Darwin)
        information.st_mtimespec = time
        information.st_ctimespec = time
        #else
        information.st_mtim = time
        information.st_ctim = time
        #endif
        return information
    }

    func names(in directory: Int32) throws(Errno) -> [String] {
        guard let folder = image.nodes[try opening(directory).node], folder.kind == .folder else {
            throw Errno(ENOTDIR)
        }
        return folder.entries.keys.sorted()
    }

    func readlinkat(_ directory: Int32, _ path: String) throws(Errno) -> [UInt8] {
        let place = try resolve(path, from: directory, followsLast: false)
        guard let node = place.node.flatMap({ image.nodes[$0] }) else { throw Errno(ENOENT) }
        guard node.kind == .link else { throw Errno(EINVAL) }
        return Array(node.content)
    }

    /// The names from the root to what lies at `path`, without links.
    func realpath(_ path: String) throws(Errno) -> String {
        let place = try resolve(path, from: -1, followsLast: true)
        guard var node = place.node else { throw Errno(ENOENT) }
        var parts: [String] = []
        if image.nodes[node]?.kind != .folder {
            parts = [place.name]
            node = place.folder
        }
        while node != DiskImage.root, let parent = image.nodes[node]?.parent {
            guard let name = image.nodes[parent]?.entries.first(where: { $0.value == node })?.key else {
                throw Errno(ENOENT)
            }
            parts.append(name)
            node = parent
        }
        return "/" + parts.reversed().joined(separator: "/")
    }
}

// MARK: - Locks

extension SimulatedMachine {
    mutating func flock(_ file: Int32, _ operation: Int32) throws(Errno) {
        let node = try opening(file).node
        var locks = self.locks[node] ?? Locks()
        locks.shared.remove(file)
        if locks.exclusive == file { locks.exclusive = nil }
        // As Linux: a lock that cannot be changed is lost.
        self.locks[node] = locks
        switch operation & ~LOCK_NB {
        case LOCK_UN: break
        case LOCK_SH:
            guard locks.exclusive == nil else { throw Errno(EWOULDBLOCK) }
            locks.shared.insert(file)
        case LOCK_EX:
            guard locks.exclusive == nil, locks.shared.isEmpty else { throw Errno(EWOULDBLOCK) }
            locks.exclusive = file
        default: throw Errno(EINVAL)
        }
        self.locks[node] = locks
    }

    /// Locks one byte of a file.
    ///
    /// - Returns: 1; 0 if another opening has it.
    mutating func lockByte(_ file: Int32, at offset: Int) throws(Errno) -> Int32 {
        let node = try opening(file).node
        if let holder = locks[node, default: Locks()].bytes[offset], holder != file { return 0 }
        locks[node, default: Locks()].bytes[offset] = file
        return 1
    }

    mutating func unlockByte(_ file: Int32, at offset: Int) throws(Errno) {
        let node = try opening(file).node
        if locks[node]?.bytes[offset] == file { locks[node]?.bytes[offset] = nil }
    }

    /// Looks at or changes the locks that SQLite's connections have on the file that is open as `file`; `nil` if it is not open.
    mutating func withDatabase<Result>(_ file: Int32, _ body: (inout DatabaseLocks) -> Result) -> Result? {
        guard let node = openings[file]?.node else { return nil }
        return body(&databases[node, default: DatabaseLocks()])
    }
}
