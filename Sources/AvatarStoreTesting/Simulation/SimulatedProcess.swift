import AvatarFileSystem
package import AvatarFoundation
import Synchronization

/// The file calls of one process on a simulated disk, which it sees below a path of its own (`root`).
package final class SimulatedProcess: FileSystem {
    /// The disk.
    package let disk: SimulatedDisk
    /// The path at which the process sees the disk. No file of the system is reached by the paths below it.
    package let root: String
    private let number: Int
    private static let lastNumber = Atomic<Int>(0)
    private static let all = Locked<[String: WeakProcess]>([:])

    private struct WeakProcess: Sendable {
        weak let process: SimulatedProcess?
    }

    /// Starts a process on `disk`.
    ///
    /// - Parameter root: the path at which an earlier process has seen its disk, for one that knows paths by that. That process
    ///   makes no call any more. Default: a path of its own.
    package init(on disk: SimulatedDisk, at root: String? = nil) {
        self.disk = disk
        number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        self.root = root ?? "/simulated-\(number)"
        SimulatedVFS.register()
        let entry = WeakProcess(process: self)
        Self.all.withLock { [root = self.root] in $0[root] = entry }
    }

    deinit {
        Self.all.withLock { all in
            // Another process may be there by now.
            if all[root]?.process == nil { all[root] = nil }
        }
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

    /// Makes a call that returns 0, or -1 if it fails.
    private func call(
        _ name: String,
        _ subject: SimulatedDisk.Subject,
        changes: Bool = true,
        _ body: (inout SimulatedMachine, SimulatedDisk.Fault?) throws(Errno) -> Void
    ) -> Int32 {
        disk.call(name, subject, by: number, changes: changes, orElse: -1) { machine, fault throws(Errno) in
            try body(&machine, fault)
            return 0
        }
    }

    // MARK: Names

    package func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        let path = onDisk(path)
        let creates = flags & O_CREAT != 0
        return disk.call("open", .path(path), by: number, changes: creates, orElse: -1) { machine, _ throws(Errno) in
            try machine.openat(directory, path, flags, mode, by: number)
        }
    }

    package func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        disk.call("open", .path(path), by: number, orElse: -1) { machine, _ throws(Errno) in
            try machine.openBeneath(directory, path, flags, by: number)
        }
    }

    @discardableResult
    package func close(_ file: Int32) -> Int32 {
        call("close", .path(""), changes: false) { machine, _ throws(Errno) in try machine.close(file) }
    }

    package func renameat(_ from: Int32, _ source: String, _ to: Int32, _ target: String) -> Int32 {
        let (source, target) = (onDisk(source), onDisk(target))
        return call("rename", .path(target)) { machine, _ throws(Errno) in
            try machine.renameat(from, source, to, target)
        }
    }

    @discardableResult
    package func linkat(_ from: Int32, _ source: String, _ to: Int32, _ target: String) -> Int32 {
        let (source, target) = (onDisk(source), onDisk(target))
        return call("link", .path(target)) { machine, _ throws(Errno) in try machine.linkat(from, source, to, target) }
    }

    @discardableResult
    package func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        let path = onDisk(path)
        return call("unlink", .path(path)) { machine, _ throws(Errno) in try machine.unlinkat(directory, path, flags) }
    }

    package func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32 {
        let path = onDisk(path)
        return call("mkdir", .path(path)) { machine, _ throws(Errno) in try machine.mkdirat(directory, path, mode) }
    }

    // MARK: Content

    package func pread(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ offset: Int) -> Int {
        disk.call("read", by: number, orElse: -1) { machine, fault throws(Errno) in
            try machine.pread(file, buffer, count, offset, isShort: fault == .isShort)
        }
    }

    package func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int {
        disk.call("write", .file(file), by: number, changes: true, orElse: -1) { machine, fault throws(Errno) in
            try machine.pwrite(file, buffer, count, offset, isShort: fault == .isShort)
        }
    }

    @discardableResult
    package func ftruncate(_ file: Int32, _ length: Int) -> Int32 {
        call("truncate", .file(file)) { machine, _ throws(Errno) in try machine.ftruncate(file, length) }
    }

    @discardableResult
    package func fsync(_ file: Int32) -> Int32 {
        call("fsync", .file(file)) { machine, fault throws(Errno) in
            switch fault {
            case .lies: return
            case .fails(let number):
                try machine.failFsync(file)
                throw Errno(number)
            case .drops:
                try machine.failFsync(file, drops: true)
                throw Errno(EIO)
            case .isShort, .kills, nil: try machine.fsync(file)
            }
        }
    }

    package func syncfs(_ file: Int32) -> Int32 {
        call("syncfs", .path("")) { machine, fault throws(Errno) in
            switch fault {
            case .lies: return
            case .fails(let number):
                machine.failSyncfs()
                throw Errno(number)
            case .drops, .isShort, .kills, nil: machine.syncfs()
            }
        }
    }

    /// The bytes may be on the disk at any time anyway.
    package func startWriting(_ file: Int32) {}

    package func setAttribute(_ file: Int32, _ name: String, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int32 {
        call("setxattr", .file(file)) { machine, _ throws(Errno) in
            try machine.setAttribute(file, name, bytes, count)
        }
    }

    package func attribute(_ file: Int32, _ name: String, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        disk.call("getxattr", by: number, orElse: -1) { machine, _ throws(Errno) in
            try machine.attribute(file, name, buffer, count)
        }
    }

    // MARK: Looking

    package func fstat(_ file: Int32, _ information: inout stat) -> Int32 {
        let found: stat? = disk.call("stat", by: number, orElse: nil) { machine, _ throws(Errno) in
            try machine.fstat(file)
        }
        guard let found else { return -1 }
        information = found
        return 0
    }

    package func fstatat(_ directory: Int32, _ path: String, _ information: inout stat, _ flags: Int32) -> Int32 {
        let path = onDisk(path)
        let found: stat? = disk.call("stat", .path(path), by: number, orElse: nil) { machine, _ throws(Errno) in
            try machine.fstatat(directory, path, flags)
        }
        guard let found else { return -1 }
        information = found
        return 0
    }

    package func fstatvfs(_ file: Int32, _ information: inout statvfs) -> Int32 {
        let free = disk.call("statvfs", by: number, orElse: -1) { machine, _ throws(Errno) in machine.freeBytes }
        guard free >= 0 else { return -1 }
        information.f_bsize = 512
        information.f_frsize = 512
        information.f_bavail = numericCast(free / 512)
        information.f_bfree = numericCast(free / 512)
        return 0
    }

    package func faccessat(_ directory: Int32, _ path: String, _ mode: Int32) -> Int32 {
        var information = stat()
        return fstatat(directory, path, &information, 0)
    }

    package func names(in directory: Int32) -> [String]? {
        disk.call("readdir", by: number, orElse: nil) { machine, _ throws(Errno) in try machine.names(in: directory) }
    }

    package func readlinkat(_ directory: Int32, _ path: String) -> [UInt8]? {
        let path = onDisk(path)
        return disk.call("readlink", .path(path), by: number, orElse: nil) { machine, _ throws(Errno) in
            try machine.readlinkat(directory, path)
        }
    }

    package func realpath(_ path: String) -> String? {
        if path == "/" { return path }
        let path = onDisk(path)
        let found: String? = disk.call("realpath", .path(path), by: number, orElse: nil) { machine, _ throws(Errno) in
            try machine.realpath(path)
        }
        return found.map { $0 == "/" ? root : root + $0 }
    }

    // MARK: Locks

    package func lock(_ file: Int32, _ operation: Int32) -> Int32 {
        call("flock", .file(file), changes: false) { machine, _ throws(Errno) in try machine.flock(file, operation) }
    }

    package func lockByte(_ file: Int32, at offset: Int) -> Int32 {
        disk.call("lock", .file(file), by: number, orElse: -1) { machine, _ throws(Errno) in
            try machine.lockByte(file, at: offset)
        }
    }

    @discardableResult
    package func unlockByte(_ file: Int32, at offset: Int) -> Int32 {
        call("unlock", .file(file), changes: false) { machine, _ throws(Errno) in
            try machine.unlockByte(file, at: offset)
        }
    }

    /// Looks at or changes the locks of SQLite on the open file `file`.
    func withDatabase<Result: Sendable>(
        _ file: Int32,
        orElse failed: Result,
        _ body: (inout DatabaseLocks) -> Result
    ) -> Result {
        disk.withDatabase(file, by: number, orElse: failed, body)
    }

    // MARK: Nothing to simulate

    package func futimens(_ file: Int32, _ access: timespec, _ change: timespec) -> Int32 { 0 }

    package func fchmod(_ file: Int32, _ mode: UInt32) -> Int32 { 0 }

    package func isOnNetwork(_ file: Int32) -> Int32 { 0 }
}
