import AvatarFileSystem
package import AvatarFiles
package import AvatarFoundation
import AvatarLoopback
import Synchronization

/// A disk in memory, on which stores run with all their files and their index, and which can lose power at any call.
///
/// Processes use it side by side (`SimulatedProcess`), each below a path of its own. Before each call the watcher may
/// look at the disk; the plan of faults may make the call fail. A disk that is kept as a `DiskImage` can be continued
/// as often as wanted.
public final class SimulatedDisk: Sendable {
    /// A call of a process, as the watcher and faults see it.
    package struct Call: Sendable {
        /// Its number, from 1, on this disk.
        package let number: Int
        /// Its name in POSIX.
        package let name: String
        /// The path or file it is made on.
        package let path: String
    }

    /// How a call goes wrong.
    package enum Fault: Hashable, Sendable {
        /// It fails with this `errno`, without an effect. A failed `fsync` or `syncfs` loses what it was to write: later ones
        /// succeed without it. After a failed `syncfs` the first `fsync` of each file that lost bytes fails too.
        case fails(Int32)
        /// A read or write does a part of the bytes only.
        case isShort
        /// A synchronization reports success and does nothing.
        case lies
        /// The process is killed instead: its files are closed, its locks are free, each later call fails.
        case kills
    }

    /// An open file or folder.
    private struct Opening {
        let node: DiskImage.Inode
        let process: Int
        let path: String
        let flags: Int32
    }

    /// The locks on a file.
    private struct Locks {
        /// `flock`: the openings that share it, or the one that has it.
        var shared: Set<Int32> = []
        var exclusive: Int32?
        /// Single bytes, by offset.
        var bytes: [Int: Int32] = [:]
    }

    /// Asked and told before a call. A type of its own: a closure that is itself in a `Mutex` is wrapped once more by each
    /// look at it.
    private struct Hooks {
        var watcher: (@Sendable (Call, DiskImage) -> Void)?
        var faults: (@Sendable (Call) -> Fault?)?
    }

    /// Everything that calls change.
    private struct Machine {
        var image: DiskImage
        var openings: [Int32: Opening] = [:]
        var locks: [DiskImage.Inode: Locks] = [:]
        var databases: [DiskImage.Inode: DatabaseLocks] = [:]
        var dead: Set<Int> = []
        var callCount = 0
        var time: Int64
        var isOff = false
    }

    private let machine: Mutex<Machine>
    private let hooks = Mutex(Hooks())
    /// The most bytes that all files may have together.
    private let capacity: Mutex<Int>
    /// The id of this boot of the simulated machine.
    package let bootID: BootID

    /// Descriptors of all disks differ, and from those of the system.
    private static let lastDescriptor = Atomic<Int32>(1 << 24)
    private static let lastBoot = Atomic<Int>(0)

    /// An empty disk with room for 1 GiB.
    public convenience init() { self.init(DiskImage()) }

    /// Continues with what `image` holds.
    ///
    /// - Parameters:
    ///   - image: the content.
    ///   - capacity: the most bytes that all files may have together; a write beyond fails with `ENOSPC`.
    ///     Default: 1 GiB.
    ///   - boot: the id of the boot in which `image` was taken, if the machine has gone on since and only processes have
    ///     died. Default: a machine that has started again.
    package init(_ image: DiskImage, capacity: Int = 1 << 30, boot: BootID? = nil) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        machine = Mutex(Machine(image: image, time: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)))
        self.capacity = Mutex(capacity)
        bootID = boot ?? BootID("simulated-\(Self.lastBoot.add(1, ordering: .relaxed).newValue)")
    }

    /// The content of the disk now.
    package var image: DiskImage { machine.withLock { $0.image } }

    /// The number of calls so far.
    package var callCount: Int { machine.withLock { $0.callCount } }

    /// Calls `body` before each call that changes the disk, with the disk as it was before. It must make no call itself.
    package func watch(_ body: (@Sendable (Call, DiskImage) -> Void)?) {
        hooks.withLock { $0.watcher = body }
    }

    /// Asks `body` before each call whether and how it goes wrong.
    package func fail(_ body: (@Sendable (Call) -> Fault?)?) {
        hooks.withLock { $0.faults = body }
    }

    /// Changes the most bytes that all files may have together.
    package func setCapacity(_ bytes: Int) {
        capacity.withLock { $0 = bytes }
    }

    /// Ends all processes at once, without a further call.
    package func turnOff() {
        machine.withLock { $0.isOff = true }
    }

    // MARK: Calls

    /// A failed call.
    private struct Errno: Error {
        let number: Int32
        init(_ number: Int32) { self.number = number }
    }

    /// Makes one call: counts it, asks for a fault, and sets `errno` if it fails.
    private func call<Result: Sendable>(
        _ name: String,
        _ path: String,
        by process: Int,
        changes: Bool = false,
        orElse failed: Result,
        _ body: (inout Machine, Fault?) throws(Errno) -> Result
    ) -> Result {
        let outcome: Swift.Result<Result, Errno> = machine.withLock { machine in
            guard !machine.isOff, !machine.dead.contains(process) else { return .failure(Errno(EIO)) }
            machine.callCount += 1
            machine.time += 1000
            let call = Call(number: machine.callCount, name: name, path: path)
            let hooks = hooks.withLock { $0 }
            if changes { hooks.watcher?(call, machine.image) }
            let fault = hooks.faults?(call)
            if case .fails(let number)? = fault, name != "fsync", name != "syncfs" { return .failure(Errno(number)) }
            if fault == .kills {
                Self.end(process, &machine)
                return .failure(Errno(EIO))
            }
            return Swift.Result { () throws(Errno) in try body(&machine, fault) }
        }
        switch outcome {
        case .success(let result): return result
        case .failure(let error):
            errno = error.number
            return failed
        }
    }
}

// MARK: - Names

extension SimulatedDisk {
    /// The place of a path: a folder, the last name, and what it names.
    private struct Place {
        let folder: DiskImage.Inode
        let name: String
        let node: DiskImage.Inode?
    }

    private static func resolve(
        _ path: String,
        from directory: Int32,
        _ machine: Machine,
        followsLast: Bool,
        passesLinks: Bool = true,
        depth: Int = 0
    ) throws(Errno) -> Place {
        guard depth < 40 else { throw Errno(ELOOP) }
        guard !path.isEmpty else { throw Errno(ENOENT) }
        var folder = DiskImage.root
        if !path.hasPrefix("/") {
            guard let opening = machine.openings[directory] else { throw Errno(EBADF) }
            folder = opening.node
        }
        let parts = path.split(separator: "/").map(String.init)
        guard let last = parts.last else { return Place(folder: folder, name: ".", node: folder) }
        for part in parts.dropLast() {
            folder = try step(part, in: folder, machine, passesLinks: passesLinks, depth)
        }
        guard machine.image.nodes[folder]?.kind == .folder else { throw Errno(ENOTDIR) }
        if last == "." { return Place(folder: folder, name: last, node: folder) }
        if last == ".." { return Place(folder: folder, name: last, node: machine.image.nodes[folder]?.parent) }
        guard last.utf8.count <= 255 else { throw Errno(ENAMETOOLONG) }
        let node = machine.image.nodes[folder]?.entries[last]
        if followsLast, let node, let link = machine.image.nodes[node], link.kind == .link {
            let target = String(decoding: link.content, as: UTF8.self)
            return try resolveLink(target, in: folder, machine, depth)
        }
        return Place(folder: folder, name: last, node: node)
    }

    private static func step(
        _ part: String,
        in folder: DiskImage.Inode,
        _ machine: Machine,
        passesLinks: Bool,
        _ depth: Int
    ) throws(Errno) -> DiskImage.Inode {
        guard let here = machine.image.nodes[folder], here.kind == .folder else { throw Errno(ENOTDIR) }
        if part == "." { return folder }
        if part == ".." { return here.parent }
        guard let next = here.entries[part], let node = machine.image.nodes[next] else { throw Errno(ENOENT) }
        guard node.kind == .link else { return next }
        guard passesLinks else { throw Errno(ELOOP) }
        let target = try resolveLink(String(decoding: node.content, as: UTF8.self), in: folder, machine, depth)
        guard let found = target.node else { throw Errno(ENOENT) }
        return found
    }

    private static func resolveLink(
        _ target: String,
        in folder: DiskImage.Inode,
        _ machine: Machine,
        _ depth: Int
    ) throws(Errno) -> Place {
        var machine = machine
        // A relative target begins in the folder of the link.
        machine.openings[-1] = Opening(node: folder, process: 0, path: "", flags: 0)
        return try resolve(target, from: -1, machine, followsLast: true, depth: depth + 1)
    }

    private func open(_ machine: inout Machine, _ node: DiskImage.Inode, _ process: Int, _ path: String, _ flags: Int32)
        -> Int32
    {
        let descriptor = Self.lastDescriptor.add(1, ordering: .relaxed).newValue
        machine.openings[descriptor] = Opening(node: node, process: process, path: path, flags: flags)
        machine.image.nodes[node]?.openings += 1
        return descriptor
    }

    private static func close(_ machine: inout Machine, _ descriptor: Int32) {
        guard let opening = machine.openings.removeValue(forKey: descriptor) else { return }
        machine.image.nodes[opening.node]?.openings -= 1
        if var locks = machine.locks[opening.node] {
            locks.shared.remove(descriptor)
            if locks.exclusive == descriptor { locks.exclusive = nil }
            locks.bytes = locks.bytes.filter { $0.value != descriptor }
            machine.locks[opening.node] = locks
        }
        machine.databases[opening.node]?.release(descriptor)
    }

    /// Whether `folder` is `ancestor` or lies below it.
    private static func isInside(_ folder: DiskImage.Inode, _ ancestor: DiskImage.Inode, _ machine: Machine) -> Bool {
        var folder = folder
        while folder != ancestor {
            guard folder != DiskImage.root, let parent = machine.image.nodes[folder]?.parent else { return false }
            folder = parent
        }
        return true
    }

    /// The node of a file that is open for writing.
    private static func writable(_ file: Int32, _ machine: Machine) throws(Errno) -> DiskImage.Inode {
        guard let opening = machine.openings[file] else { throw Errno(EBADF) }
        guard opening.flags & O_ACCMODE != O_RDONLY else { throw Errno(EBADF) }
        return opening.node
    }

    private static func node(_ file: Int32, _ machine: Machine) throws(Errno) -> DiskImage.Inode {
        guard let opening = machine.openings[file] else { throw Errno(EBADF) }
        return opening.node
    }

    fileprivate func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32, by process: Int)
        -> Int32
    {
        call("open", path, by: process, changes: flags & O_CREAT != 0, orElse: -1) { machine, _ throws(Errno) in
            let isExclusive = flags & O_EXCL != 0 && flags & O_CREAT != 0
            let follows = flags & O_NOFOLLOW == 0 && !isExclusive
            let place = try Self.resolve(path, from: directory, machine, followsLast: follows)
            var node = place.node
            if let found = node.flatMap({ machine.image.nodes[$0] }) {
                if isExclusive { throw Errno(EEXIST) }
                if found.kind == .link { throw Errno(ELOOP) }
                if flags & O_DIRECTORY != 0, found.kind != .folder { throw Errno(ENOTDIR) }
                if found.kind == .folder, flags & O_ACCMODE != O_RDONLY { throw Errno(EISDIR) }
            } else {
                guard flags & O_CREAT != 0 else { throw Errno(ENOENT) }
                let made = machine.image.makeNode(.file, mode: mode & 0o777, at: machine.time)
                machine.image.setNames(
                    [.init(folder: place.folder, name: place.name, node: made)],
                    at: machine.time
                )
                node = made
            }
            guard let node else { throw Errno(ENOENT) }
            if flags & O_TRUNC != 0 { machine.image.change(node, .length(0), at: machine.time) }
            return self.open(&machine, node, process, path, flags)
        }
    }

    fileprivate func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32, by process: Int) -> Int32 {
        call("open", path, by: process, orElse: -1) { machine, _ throws(Errno) in
            guard !path.hasPrefix("/"), !path.split(separator: "/").contains("..") else { throw Errno(EXDEV) }
            let place = try Self.resolve(path, from: directory, machine, followsLast: false, passesLinks: false)
            guard let node = place.node, let found = machine.image.nodes[node] else { throw Errno(ENOENT) }
            if found.kind == .link { throw Errno(ELOOP) }
            if flags & O_DIRECTORY != 0, found.kind != .folder { throw Errno(ENOTDIR) }
            return self.open(&machine, node, process, path, flags)
        }
    }

    fileprivate func close(_ file: Int32, by process: Int) -> Int32 {
        call("close", "", by: process, orElse: -1) { machine, _ throws(Errno) in
            guard machine.openings[file] != nil else { throw Errno(EBADF) }
            Self.close(&machine, file)
            return 0
        }
    }

    fileprivate func renameat(_ from: Int32, _ source: String, _ to: Int32, _ target: String, by process: Int) -> Int32
    {
        call("rename", target, by: process, changes: true, orElse: -1) { machine, _ throws(Errno) in
            let old = try Self.resolve(source, from: from, machine, followsLast: false)
            let new = try Self.resolve(target, from: to, machine, followsLast: false)
            guard let node = old.node else { throw Errno(ENOENT) }
            if Self.isInside(new.folder, node, machine) { throw Errno(EINVAL) }
            if let target = new.node, Self.isInside(old.folder, target, machine) { throw Errno(ENOTEMPTY) }
            if new.node == node { return 0 }
            if let replaced = new.node.flatMap({ machine.image.nodes[$0] }) {
                let isFolder = machine.image.nodes[node]?.kind == .folder
                if replaced.kind == .folder, !isFolder { throw Errno(EISDIR) }
                if replaced.kind != .folder, isFolder { throw Errno(ENOTDIR) }
                guard replaced.entries.isEmpty else { throw Errno(ENOTEMPTY) }
            }
            machine.image.setNames(
                [
                    .init(folder: old.folder, name: old.name, node: nil),
                    .init(folder: new.folder, name: new.name, node: node),
                ],
                at: machine.time
            )
            return 0
        }
    }

    fileprivate func linkat(_ from: Int32, _ source: String, _ to: Int32, _ target: String, by process: Int) -> Int32 {
        call("link", target, by: process, changes: true, orElse: -1) { machine, _ throws(Errno) in
            let old = try Self.resolve(source, from: from, machine, followsLast: false)
            let new = try Self.resolve(target, from: to, machine, followsLast: false)
            guard let node = old.node else { throw Errno(ENOENT) }
            guard new.node == nil else { throw Errno(EEXIST) }
            guard machine.image.nodes[node]?.kind != .folder else { throw Errno(EPERM) }
            machine.image.setNames([.init(folder: new.folder, name: new.name, node: node)], at: machine.time)
            return 0
        }
    }

    fileprivate func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32, by process: Int) -> Int32 {
        call("unlink", path, by: process, changes: true, orElse: -1) { machine, _ throws(Errno) in
            let place = try Self.resolve(path, from: directory, machine, followsLast: false)
            guard let node = place.node, let found = machine.image.nodes[node] else { throw Errno(ENOENT) }
            if flags & AT_REMOVEDIR != 0 {
                guard found.kind == .folder else { throw Errno(ENOTDIR) }
                guard found.entries.isEmpty else { throw Errno(ENOTEMPTY) }
            } else if found.kind == .folder {
                throw Errno(EISDIR)
            }
            machine.image.setNames([.init(folder: place.folder, name: place.name, node: nil)], at: machine.time)
            return 0
        }
    }

    fileprivate func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32, by process: Int) -> Int32 {
        call("mkdir", path, by: process, changes: true, orElse: -1) { machine, _ throws(Errno) in
            let place = try Self.resolve(path, from: directory, machine, followsLast: false)
            guard place.node == nil else { throw Errno(EEXIST) }
            let made = machine.image.makeNode(.folder, mode: mode & 0o777, parent: place.folder, at: machine.time)
            machine.image.setNames([.init(folder: place.folder, name: place.name, node: made)], at: machine.time)
            return 0
        }
    }

    /// Makes a symbolic link at the absolute `path` of the disk, as another program would. Its folder must exist.
    package func makeLink(at path: String, to target: String) {
        machine.withLock { machine in
            let place: Place
            do throws(Errno) {
                place = try Self.resolve(path, from: -1, machine, followsLast: false)
            } catch {
                preconditionFailure("The folder of the link \(path) does not exist (\(error.number)).")
            }
            let made = machine.image.makeNode(.link, mode: 0o777, at: machine.time)
            machine.image.nodes[made]?.content = Data(target.utf8)
            machine.image.setNames([.init(folder: place.folder, name: place.name, node: made)], at: machine.time)
        }
    }

    /// Puts a file with `bytes` at the absolute `path` of the disk, on stable storage, with its folders.
    package func put(_ bytes: [UInt8], at path: String) {
        machine.withLock { machine in
            var folder = DiskImage.root
            let parts = path.split(separator: "/").map(String.init)
            for part in parts.dropLast() {
                if let found = machine.image.nodes[folder]?.entries[part] {
                    folder = found
                } else {
                    let made = machine.image.makeNode(.folder, mode: 0o700, parent: folder, at: machine.time)
                    machine.image.setNames([.init(folder: folder, name: part, node: made)], at: machine.time)
                    folder = made
                }
            }
            guard let name = parts.last else { return }
            let made = machine.image.makeNode(.file, mode: 0o600, at: machine.time)
            machine.image.setNames([.init(folder: folder, name: name, node: made)], at: machine.time)
            machine.image.change(made, .bytes(Data(bytes), at: 0), at: machine.time)
            machine.image.synchronizeAll()
        }
    }
}

// MARK: - Content

extension SimulatedDisk {
    fileprivate func pread(
        _ file: Int32,
        _ buffer: UnsafeMutableRawPointer?,
        _ count: Int,
        _ offset: Int,
        by process: Int
    ) -> Int {
        // The buffer is used by this call alone.
        nonisolated(unsafe) let buffer = buffer
        return call("read", "", by: process, orElse: -1) { machine, fault throws(Errno) in
            let node = try Self.node(file, machine)
            guard let found = machine.image.nodes[node] else { throw Errno(EBADF) }
            guard found.kind == .file else { throw Errno(EISDIR) }
            var read = max(0, min(count, found.content.count - offset))
            if fault == .isShort, read > 1 { read = read / 2 }
            guard read > 0 else { return 0 }
            if let buffer {
                let target = buffer.assumingMemoryBound(to: UInt8.self)
                found.content.copyBytes(to: target, from: offset..<(offset + read))
            }
            return read
        }
    }

    fileprivate func pwrite(
        _ file: Int32,
        _ buffer: UnsafeRawPointer?,
        _ count: Int,
        _ offset: Int,
        by process: Int
    ) -> Int {
        var bytes = buffer.map { Data(bytes: $0, count: count) } ?? Data()
        let capacity = capacity.withLock { $0 }
        return call("write", path(of: file), by: process, changes: true, orElse: -1) { machine, fault throws(Errno) in
            let node = try Self.writable(file, machine)
            if fault == .isShort, bytes.count > 1 { bytes.removeLast(bytes.count / 2) }
            let growth = offset + bytes.count - (machine.image.nodes[node]?.content.count ?? 0)
            if growth > 0, machine.image.byteCount + growth > capacity { throw Errno(ENOSPC) }
            machine.image.change(node, .bytes(bytes, at: offset), at: machine.time)
            return bytes.count
        }
    }

    fileprivate func ftruncate(_ file: Int32, _ length: Int, by process: Int) -> Int32 {
        call("truncate", path(of: file), by: process, changes: true, orElse: -1) { machine, _ throws(Errno) in
            guard let opening = machine.openings[file] else { throw Errno(EBADF) }
            guard opening.flags & O_ACCMODE != O_RDONLY else { throw Errno(EINVAL) }
            machine.image.change(opening.node, .length(length), at: machine.time)
            return 0
        }
    }

    fileprivate func fsync(_ file: Int32, by process: Int) -> Int32 {
        call("fsync", path(of: file), by: process, changes: true, orElse: -1) { machine, fault throws(Errno) in
            let node = try Self.node(file, machine)
            switch fault {
            case .fails(let number):
                machine.image.lose(node)
                throw Errno(number)
            case .lies: break
            case .isShort, .kills, nil:
                if machine.image.reportLoss(node) { throw Errno(EIO) }
                machine.image.synchronize(node)
            }
            return 0
        }
    }

    fileprivate func syncfs(_ file: Int32, by process: Int) -> Int32 {
        call("syncfs", "", by: process, changes: true, orElse: -1) { machine, fault throws(Errno) in
            switch fault {
            case .fails(let number):
                machine.image.loseAll()
                throw Errno(number)
            case .lies: break
            case .isShort, .kills, nil: machine.image.synchronizeAll()
            }
            return 0
        }
    }

    fileprivate func setAttribute(
        _ file: Int32,
        _ name: String,
        _ bytes: UnsafeRawPointer?,
        _ count: Int,
        by process: Int
    ) -> Int32 {
        let value = count == 0 ? nil : Array(UnsafeRawBufferPointer(start: bytes, count: count))
        return call("setxattr", path(of: file), by: process, changes: true, orElse: -1) { machine, _ throws(Errno) in
            machine.image.change(try Self.node(file, machine), .attribute(name, value), at: machine.time)
            return 0
        }
    }

    fileprivate func attribute(
        _ file: Int32,
        _ name: String,
        _ buffer: UnsafeMutableRawPointer?,
        _ count: Int,
        by process: Int
    ) -> Int {
        let value: [UInt8]? = call("getxattr", "", by: process, orElse: nil) { machine, _ throws(Errno) in
            let node = try Self.node(file, machine)
            guard let value = machine.image.nodes[node]?.attributes[name] else { throw Errno(ENODATA) }
            guard value.count <= count || count == 0 else { throw Errno(ERANGE) }
            return value
        }
        guard let value else { return -1 }
        if count > 0 { UnsafeMutableRawBufferPointer(start: buffer, count: count).copyBytes(from: value) }
        return value.count
    }

    /// The path by which a file was opened.
    private func path(of file: Int32) -> String { machine.withLock { $0.openings[file]?.path ?? "" } }
}

// MARK: - Looking

extension SimulatedDisk {
    fileprivate func fstat(_ file: Int32, by process: Int) -> stat? {
        call("stat", "", by: process, orElse: nil) { machine, _ throws(Errno) in
            try Self.information(Self.node(file, machine), machine)
        }
    }

    fileprivate func fstatat(_ directory: Int32, _ path: String, _ flags: Int32, by process: Int) -> stat? {
        call("stat", path, by: process, orElse: nil) { machine, _ throws(Errno) in
            let follows = flags & AT_SYMLINK_NOFOLLOW == 0
            let place = try Self.resolve(path, from: directory, machine, followsLast: follows)
            guard let node = place.node else { throw Errno(ENOENT) }
            return try Self.information(node, machine)
        }
    }

    private static func information(_ inode: DiskImage.Inode, _ machine: Machine) throws(Errno) -> stat {
        guard let node = machine.image.nodes[inode] else { throw Errno(EBADF) }
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

    fileprivate func freeBytes(by process: Int) -> Int {
        let capacity = capacity.withLock { $0 }
        return call("statvfs", "", by: process, orElse: -1) { machine, _ throws(Errno) in
            max(0, capacity - machine.image.byteCount)
        }
    }

    fileprivate func names(in directory: Int32, by process: Int) -> [String]? {
        call("readdir", "", by: process, orElse: nil) { machine, _ throws(Errno) in
            let node = try Self.node(directory, machine)
            guard let folder = machine.image.nodes[node], folder.kind == .folder else { throw Errno(ENOTDIR) }
            return folder.entries.keys.sorted()
        }
    }

    fileprivate func readlinkat(_ directory: Int32, _ path: String, by process: Int) -> [UInt8]? {
        call("readlink", path, by: process, orElse: nil) { machine, _ throws(Errno) in
            let place = try Self.resolve(path, from: directory, machine, followsLast: false)
            guard let node = place.node.flatMap({ machine.image.nodes[$0] }) else { throw Errno(ENOENT) }
            guard node.kind == .link else { throw Errno(EINVAL) }
            return Array(node.content)
        }
    }

    /// The names from the root to what lies at `path`, without links.
    fileprivate func realpath(_ path: String, by process: Int) -> String? {
        call("realpath", path, by: process, orElse: nil) { machine, _ throws(Errno) in
            let place = try Self.resolve(path, from: -1, machine, followsLast: true)
            guard var node = place.node else { throw Errno(ENOENT) }
            var parts: [String] = []
            if machine.image.nodes[node]?.kind != .folder {
                parts = [place.name]
                node = place.folder
            }
            while node != DiskImage.root, let parent = machine.image.nodes[node]?.parent {
                guard let name = machine.image.nodes[parent]?.entries.first(where: { $0.value == node })?.key else {
                    throw Errno(ENOENT)
                }
                parts.append(name)
                node = parent
            }
            return "/" + parts.reversed().joined(separator: "/")
        }
    }
}

// MARK: - Locks

extension SimulatedDisk {
    fileprivate func lock(_ file: Int32, _ operation: Int32, by process: Int) -> Int32 {
        call("flock", path(of: file), by: process, orElse: -1) { machine, _ throws(Errno) in
            let node = try Self.node(file, machine)
            var locks = machine.locks[node] ?? Locks()
            let wasExclusive = locks.exclusive == file
            locks.shared.remove(file)
            if wasExclusive { locks.exclusive = nil }
            // As Linux: a lock that cannot be changed is lost.
            machine.locks[node] = locks
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
            machine.locks[node] = locks
            return 0
        }
    }

    fileprivate func lockByte(_ file: Int32, at offset: Int, by process: Int) -> Int32 {
        call("lock", path(of: file), by: process, orElse: -1) { machine, _ throws(Errno) in
            let node = try Self.node(file, machine)
            if let holder = machine.locks[node, default: Locks()].bytes[offset], holder != file { return 0 }
            machine.locks[node, default: Locks()].bytes[offset] = file
            return 1
        }
    }

    fileprivate func unlockByte(_ file: Int32, at offset: Int, by process: Int) -> Int32 {
        call("unlock", path(of: file), by: process, orElse: -1) { machine, _ throws(Errno) in
            let node = try Self.node(file, machine)
            if machine.locks[node]?.bytes[offset] == file { machine.locks[node]?.bytes[offset] = nil }
            return 0
        }
    }

    /// Looks at or changes the locks that SQLite's connections have on the file that is open as `file`.
    fileprivate func withDatabase<Result: Sendable>(
        _ file: Int32,
        by process: Int,
        orElse failed: Result,
        _ body: (inout DatabaseLocks) -> Result
    ) -> Result {
        machine.withLock { machine in
            guard !machine.isOff, !machine.dead.contains(process), let node = machine.openings[file]?.node else {
                return failed
            }
            return body(&machine.databases[node, default: DatabaseLocks()])
        }
    }

    fileprivate func isAlive(_ process: Int) -> Bool {
        machine.withLock { !$0.isOff && !$0.dead.contains(process) }
    }

    fileprivate func end(_ process: Int) {
        machine.withLock { Self.end(process, &$0) }
    }

    private static func end(_ process: Int, _ machine: inout Machine) {
        machine.dead.insert(process)
        for (file, opening) in machine.openings where opening.process == process { close(&machine, file) }
    }
}

// MARK: - Processes

/// The file calls of one process on a simulated disk, which it sees below a path of its own (`root`).
package final class SimulatedProcess: FileSystem {
    /// The disk.
    package let disk: SimulatedDisk
    /// The path at which the process sees the disk. No file of the system is reached by the paths below it.
    package let root: String
    private let number: Int
    private static let lastNumber = Atomic<Int>(0)
    private static let all = Mutex<[String: WeakProcess]>([:])

    private struct WeakProcess: Sendable {
        weak let process: SimulatedProcess?
    }

    /// Starts a process on `disk`.
    package init(on disk: SimulatedDisk) {
        self.disk = disk
        number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        root = "/simulated-\(number)"
        SimulatedVFS.register()
        let entry = WeakProcess(process: self)
        Self.all.withLock { $0[root] = entry }
    }

    deinit {
        _ = Self.all.withLock { $0.removeValue(forKey: root) }
    }

    /// Kills the process: its files are closed, its locks released, and each later call fails.
    package func kill() { disk.end(number) }

    /// Whether it was not killed.
    package var isAlive: Bool { disk.isAlive(number) }

    /// The process that sees its disk at the beginning of `path`.
    static func seeing(_ path: String) -> SimulatedProcess? {
        guard path.hasPrefix("/simulated-") else { return nil }
        let root = path.dropFirst().prefix { $0 != "/" }
        return all.withLock { $0["/" + root] }?.process
    }

    /// `path` as the disk has it: without the process's own root.
    func onDisk(_ path: String) -> String {
        guard path.hasPrefix("/") else { return path }
        if path == root { return "/" }
        return path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : "/no such disk"
    }

    package var databaseVFS: String? { SimulatedVFS.name }

    package func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        disk.openat(directory, onDisk(path), flags, mode, by: number)
    }

    package func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        disk.openBeneath(directory, path, flags, by: number)
    }

    @discardableResult
    package func close(_ file: Int32) -> Int32 { disk.close(file, by: number) }

    package func pread(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int) -> Int {
        disk.pread(file, buffer, count, offset, by: number)
    }

    package func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int {
        disk.pwrite(file, buffer, count, offset, by: number)
    }

    @discardableResult
    package func ftruncate(_ file: Int32, _ length: Int) -> Int32 { disk.ftruncate(file, length, by: number) }

    @discardableResult
    package func fsync(_ file: Int32) -> Int32 { disk.fsync(file, by: number) }

    package func syncfs(_ file: Int32) -> Int32 { disk.syncfs(file, by: number) }

    /// The bytes may be on the disk at any time anyway.
    package func startWriting(_ file: Int32) {}

    package func renameat(_ from: Int32, _ source: String, _ to: Int32, _ target: String) -> Int32 {
        disk.renameat(from, onDisk(source), to, onDisk(target), by: number)
    }

    @discardableResult
    package func linkat(_ from: Int32, _ source: String, _ to: Int32, _ target: String) -> Int32 {
        disk.linkat(from, onDisk(source), to, onDisk(target), by: number)
    }

    @discardableResult
    package func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        disk.unlinkat(directory, onDisk(path), flags, by: number)
    }

    package func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32 {
        disk.mkdirat(directory, onDisk(path), mode, by: number)
    }

    package func fstat(_ file: Int32, _ information: inout stat) -> Int32 {
        guard let found = disk.fstat(file, by: number) else { return -1 }
        information = found
        return 0
    }

    package func fstatat(_ directory: Int32, _ path: String, _ information: inout stat, _ flags: Int32) -> Int32 {
        guard let found = disk.fstatat(directory, onDisk(path), flags, by: number) else { return -1 }
        information = found
        return 0
    }

    package func fstatvfs(_ file: Int32, _ information: inout statvfs) -> Int32 {
        let free = disk.freeBytes(by: number)
        guard free >= 0 else { return -1 }
        information.f_bsize = 512
        information.f_frsize = 512
        information.f_bavail = numericCast(free / 512)
        information.f_bfree = numericCast(free / 512)
        return 0
    }

    package func faccessat(_ directory: Int32, _ path: String, _ mode: Int32) -> Int32 {
        disk.fstatat(directory, onDisk(path), 0, by: number) == nil ? -1 : 0
    }

    package func names(in directory: Int32) -> [String]? { disk.names(in: directory, by: number) }

    package func readlinkat(_ directory: Int32, _ path: String) -> [UInt8]? {
        disk.readlinkat(directory, onDisk(path), by: number)
    }

    package func realpath(_ path: String) -> String? {
        if path == "/" { return path }
        return disk.realpath(onDisk(path), by: number).map { $0 == "/" ? root : root + $0 }
    }

    package func lock(_ file: Int32, _ operation: Int32) -> Int32 { disk.lock(file, operation, by: number) }

    package func lockByte(_ file: Int32, at offset: Int) -> Int32 { disk.lockByte(file, at: offset, by: number) }

    @discardableResult
    package func unlockByte(_ file: Int32, at offset: Int) -> Int32 { disk.unlockByte(file, at: offset, by: number) }

    package func setAttribute(_ file: Int32, _ name: String, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
        disk.setAttribute(file, name, bytes, count, by: number)
    }

    package func attribute(_ file: Int32, _ name: String, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        disk.attribute(file, name, buffer, count, by: number)
    }

    package func futimens(_ file: Int32, _ access: timespec, _ change: timespec) -> Int32 { 0 }

    package func fchmod(_ file: Int32, _ mode: UInt32) -> Int32 { 0 }

    package func isOnNetwork(_ file: Int32) -> Int32 { 0 }

    /// Looks at or changes the locks of SQLite on the open file `file`.
    func withDatabase<Result: Sendable>(
        _ file: Int32,
        orElse failed: Result,
        _ body: (inout DatabaseLocks) -> Result
    ) -> Result {
        disk.withDatabase(file, by: number, orElse: failed, body)
    }
}
