import AvatarFoundation
import CSQLite
import Synchronization

/// SQLite's files on simulated disks (https://www.sqlite.org/vfs.html).
///
/// It does as SQLite's own VFS for POSIX does: it synchronizes the folder of a log that it may have made with the log's first
/// synchronization, and the folder of a deleted file where SQLite asks for it. The shared memory beside a log is the
/// memory of this process, per disk.
enum SimulatedVFS {
    private static let staticName: StaticString = "simulated"
    static let name = "\(staticName)"

    /// Makes the VFS known to SQLite. Once per process; it is never taken back.
    static func register() { _ = registered }

    private static let registered: Bool = {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: sqlite3_vfs())
        vfs.pointee.iVersion = 2
        vfs.pointee.szOsFile = Int32(MemoryLayout<File>.size)
        vfs.pointee.mxPathname = 1024
        // A static string ends with a zero byte and is never freed.
        vfs.pointee.zName = UnsafeRawPointer(staticName.utf8Start).assumingMemoryBound(to: CChar.self)
        vfs.pointee.xOpen = open
        vfs.pointee.xDelete = delete
        vfs.pointee.xAccess = access
        vfs.pointee.xFullPathname = { _, path, size, result in
            guard let path, let result, strlen(path) < size else { return SQLITE_CANTOPEN }
            strcpy(result, path)
            return SQLITE_OK
        }
        vfs.pointee.xRandomness = { _, count, bytes in
            var random = SystemRandomNumberGenerator()
            for index in 0..<Int(count) { bytes?[index] = CChar(truncatingIfNeeded: random.next()) }
            return count
        }
        vfs.pointee.xSleep = { _, microseconds in
            usleep(UInt32(microseconds))
            return microseconds
        }
        vfs.pointee.xCurrentTime = { _, days in
            days?.pointee = 2_440_587.5 + Double(time(nil)) / 86_400
            return SQLITE_OK
        }
        vfs.pointee.xCurrentTimeInt64 = { _, milliseconds in
            milliseconds?.pointee = 210_866_760_000_000 + Int64(time(nil)) * 1000
            return SQLITE_OK
        }
        vfs.pointee.xGetLastError = { _, _, _ in errno }
        return sqlite3_vfs_register(vfs, 0) == SQLITE_OK
    }()

    /// SQLite's file: its methods, and our own object.
    private struct File {
        var base: sqlite3_file
        var open: Unmanaged<OpenDatabase>?
    }

    private static func database(_ file: UnsafeMutablePointer<sqlite3_file>?) -> OpenDatabase? {
        file.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: File.self).pointee.open?.takeUnretainedValue() }
            ?? nil
    }

    private static let open:
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
            UnsafeMutablePointer<Int32>?
        ) -> Int32 = { _, name, file, flags, outFlags in
            guard let file else { return SQLITE_CANTOPEN }
            let target = UnsafeMutableRawPointer(file).assumingMemoryBound(to: File.self)
            target.initialize(to: File(base: sqlite3_file(pMethods: nil), open: nil))
            let opened: OpenDatabase
            if let name {
                let path = String(cString: name)
                guard let process = SimulatedProcess.seeing(path) else { return SQLITE_CANTOPEN }
                var open = flags & SQLITE_OPEN_READWRITE != 0 ? O_RDWR : O_RDONLY
                if flags & SQLITE_OPEN_CREATE != 0 { open |= O_CREAT }
                if flags & SQLITE_OPEN_EXCLUSIVE != 0 { open |= O_EXCL }
                let descriptor = process.openat(AT_FDCWD, path, open, 0o600)
                guard descriptor >= 0 else { return SQLITE_CANTOPEN }
                let kinds = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL
                opened = OpenDatabase(
                    path: path,
                    descriptor: descriptor,
                    process: process,
                    synchronizesFolder: flags & SQLITE_OPEN_CREATE != 0 && flags & kinds != 0,
                    isDeletedOnClose: flags & SQLITE_OPEN_DELETEONCLOSE != 0
                )
            } else {
                // A temporary file, which no other process sees and no loss of power leaves.
                let process = SimulatedProcess(on: SimulatedDisk())
                let path = process.root + "/temporary"
                let descriptor = process.openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0o600)
                opened = OpenDatabase(
                    path: path,
                    descriptor: descriptor,
                    process: process,
                    synchronizesFolder: false,
                    isDeletedOnClose: false
                )
            }
            target.pointee.open = Unmanaged.passRetained(opened)
            target.pointee.base.pMethods = UnsafePointer(methods)
            outFlags?.pointee = flags
            return SQLITE_OK
        }

    private static let delete:
        @convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, Int32) -> Int32 = { _, name, sync in
            guard let name else { return SQLITE_IOERR | 10 << 8 }
            let path = String(cString: name)
            guard let process = SimulatedProcess.seeing(path) else { return SQLITE_IOERR | 10 << 8 }
            guard process.unlinkat(AT_FDCWD, path, 0) == 0 else {
                return errno == ENOENT ? SQLITE_IOERR | 23 << 8 : SQLITE_IOERR | 10 << 8
            }
            return sync == 0 || process.synchronizeFolder(of: path) ? SQLITE_OK : SQLITE_IOERR | 5 << 8
        }

    private static let access:
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, Int32, UnsafeMutablePointer<Int32>?
        ) -> Int32 = { _, name, flags, result in
            guard let name else { return SQLITE_IOERR | 13 << 8 }
            let path = String(cString: name)
            var information = stat()
            let isThere =
                SimulatedProcess.seeing(path)?.fstatat(AT_FDCWD, path, &information, 0) == 0
                // As SQLite's own: an empty journal is no journal.
                && (flags != SQLITE_ACCESS_EXISTS || information.st_size > 0)
            result?.pointee = isThere ? 1 : 0
            return SQLITE_OK
        }

    /// The methods of all files. They last as long as the process.
    private static nonisolated(unsafe) let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 2
        methods.pointee.xClose = { file in
            guard let file else { return SQLITE_OK }
            let target = UnsafeMutableRawPointer(file).assumingMemoryBound(to: File.self)
            target.pointee.open?.takeUnretainedValue().close()
            target.pointee.open?.release()
            target.pointee.open = nil
            return SQLITE_OK
        }
        methods.pointee.xRead = { file, buffer, count, offset in
            database(file)?.read(buffer, Int(count), at: Int(offset)) ?? SQLITE_IOERR
        }
        methods.pointee.xWrite = { file, buffer, count, offset in
            database(file)?.write(buffer, Int(count), at: Int(offset)) ?? SQLITE_IOERR
        }
        methods.pointee.xTruncate = { file, length in
            guard let open = database(file) else { return SQLITE_IOERR }
            return open.process.ftruncate(open.descriptor, Int(length)) == 0 ? SQLITE_OK : SQLITE_IOERR | 6 << 8
        }
        methods.pointee.xSync = { file, _ in database(file)?.synchronize() ?? SQLITE_IOERR }
        methods.pointee.xFileSize = { file, size in
            guard let open = database(file) else { return SQLITE_IOERR }
            var information = stat()
            guard open.process.fstat(open.descriptor, &information) == 0 else { return SQLITE_IOERR | 7 << 8 }
            size?.pointee = Int64(information.st_size)
            return SQLITE_OK
        }
        methods.pointee.xLock = { file, level in
            guard let open = database(file) else { return SQLITE_IOERR }
            return open.process.withDatabase(open.descriptor, orElse: SQLITE_IOERR | 15 << 8) {
                $0.lock(open.descriptor, level) ? SQLITE_OK : SQLITE_BUSY
            }
        }
        methods.pointee.xUnlock = { file, level in
            guard let open = database(file) else { return SQLITE_IOERR }
            return open.process.withDatabase(open.descriptor, orElse: SQLITE_OK) {
                $0.unlock(open.descriptor, level)
                return SQLITE_OK
            }
        }
        methods.pointee.xCheckReservedLock = { file, result in
            guard let open = database(file) else { return SQLITE_IOERR }
            result?.pointee = open.process.withDatabase(open.descriptor, orElse: 0) { $0.isReserved ? 1 : 0 }
            return SQLITE_OK
        }
        methods.pointee.xFileControl = { file, operation, argument in
            guard let open = database(file) else { return SQLITE_IOERR }
            switch operation {
            case SQLITE_FCNTL_PERSIST_WAL:
                guard let value = argument?.assumingMemoryBound(to: Int32.self) else { return SQLITE_NOTFOUND }
                if value.pointee < 0 {
                    value.pointee = open.keepsLog ? 1 : 0
                } else {
                    open.keepsLog = value.pointee != 0
                }
                return SQLITE_OK
            case SQLITE_FCNTL_SIZE_HINT, SQLITE_FCNTL_CHUNK_SIZE: return SQLITE_OK
            default: return SQLITE_NOTFOUND
            }
        }
        methods.pointee.xSectorSize = { _ in 4096 }
        methods.pointee.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        methods.pointee.xShmMap = { file, region, size, extends, memory in
            guard let open = database(file) else { return SQLITE_IOERR }
            let shared = open.process.withDatabase(open.descriptor, orElse: Optional<SharedMemory>.none) { $0.memory }
            guard let shared else { return SQLITE_IOERR | 21 << 8 }
            open.memory = shared
            memory?.pointee = shared.region(Int(region), size: Int(size), extends: extends != 0)
            return SQLITE_OK
        }
        methods.pointee.xShmLock = { file, offset, count, flags in
            guard let open = database(file) else { return SQLITE_IOERR }
            return open.process.withDatabase(open.descriptor, orElse: SQLITE_IOERR | 20 << 8) {
                $0.lockMemory(open.descriptor, Int(offset)..<Int(offset + count), flags) ? SQLITE_OK : SQLITE_BUSY
            }
        }
        methods.pointee.xShmBarrier = { _ in atomicMemoryFence(ordering: .sequentiallyConsistent) }
        methods.pointee.xShmUnmap = { file, _ in
            guard let open = database(file) else { return SQLITE_OK }
            open.memory = nil
            return SQLITE_OK
        }
        return methods
    }()
}

/// A file that SQLite has open.
private final class OpenDatabase {
    let path: String
    let descriptor: Int32
    let process: SimulatedProcess
    /// Whether the file's name is still to be made durable, with its first synchronization.
    private var synchronizesFolder: Bool
    private let isDeletedOnClose: Bool
    /// Whether the log stays when the last connection closes.
    var keepsLog = false
    /// Keeps the shared memory while it is mapped, also after the end of its process.
    var memory: SharedMemory?

    init(
        path: String,
        descriptor: Int32,
        process: SimulatedProcess,
        synchronizesFolder: Bool,
        isDeletedOnClose: Bool
    ) {
        (self.path, self.descriptor, self.process) = (path, descriptor, process)
        (self.synchronizesFolder, self.isDeletedOnClose) = (synchronizesFolder, isDeletedOnClose)
    }

    func close() {
        process.close(descriptor)
        if isDeletedOnClose { process.unlinkat(AT_FDCWD, path, 0) }
    }

    func read(_ buffer: UnsafeMutableRawPointer?, _ count: Int, at offset: Int) -> Int32 {
        guard let buffer else { return SQLITE_IOERR }
        var done = 0
        while done < count {
            let step = process.pread(descriptor, buffer + done, count - done, offset + done)
            if step < 0 {
                if errno == EINTR { continue }
                return SQLITE_IOERR | 1 << 8
            }
            if step == 0 {
                // SQLite wants zeros behind the end.
                memset(buffer + done, 0, count - done)
                return SQLITE_IOERR | 2 << 8
            }
            done += step
        }
        return SQLITE_OK
    }

    func write(_ buffer: UnsafeRawPointer?, _ count: Int, at offset: Int) -> Int32 {
        guard let buffer else { return SQLITE_IOERR }
        var done = 0
        while done < count {
            let step = process.pwrite(descriptor, buffer + done, count - done, offset + done)
            if step < 0 {
                if errno == EINTR { continue }
                return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR | 3 << 8
            }
            done += step
        }
        return SQLITE_OK
    }

    func synchronize() -> Int32 {
        guard process.fsync(descriptor) == 0 else { return SQLITE_IOERR | 4 << 8 }
        if synchronizesFolder {
            guard process.synchronizeFolder(of: path) else { return SQLITE_IOERR | 5 << 8 }
            synchronizesFolder = false
        }
        return SQLITE_OK
    }
}

extension SimulatedProcess {
    /// Makes the names beside `path` durable. Whether that was possible.
    fileprivate func synchronizeFolder(of path: String) -> Bool {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let descriptor = openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}

/// The locks of SQLite on one database: those of the file, and those of the shared memory of its log.
struct DatabaseLocks: Sendable {
    /// The connections that read.
    private var shared: Set<Int32> = []
    private var reserved: Int32?
    private var pending: Int32?
    private var exclusive: Int32?
    /// The connections that share each lock of the memory.
    private var memoryShared = [Set<Int32>](repeating: [], count: Int(SQLITE_SHM_NLOCK))
    private var memoryExclusive = [Int32?](repeating: nil, count: Int(SQLITE_SHM_NLOCK))
    /// The memory itself, made when the first connection maps it.
    private var mapped: SharedMemory?
    /// The connections that have mapped it.
    private var users: Set<Int32> = []

    var isReserved: Bool { reserved != nil || pending != nil || exclusive != nil }

    var memory: SharedMemory {
        mutating get {
            let memory = mapped ?? SharedMemory()
            mapped = memory
            return memory
        }
    }

    /// Raises the lock of a connection to one of SQLite's levels. Whether no other connection was in the way.
    mutating func lock(_ file: Int32, _ level: Int32) -> Bool {
        func isFree(_ holder: Int32?) -> Bool { holder == nil || holder == file }
        if level >= SQLITE_LOCK_SHARED, !shared.contains(file) {
            guard isFree(pending), isFree(exclusive) else { return false }
            shared.insert(file)
        }
        if level >= SQLITE_LOCK_RESERVED {
            guard isFree(reserved), isFree(pending), isFree(exclusive) else { return false }
            if level == SQLITE_LOCK_RESERVED { reserved = file }
        }
        if level == SQLITE_LOCK_EXCLUSIVE {
            pending = file
            guard shared.allSatisfy({ $0 == file }) else { return false }
            exclusive = file
        }
        return true
    }

    mutating func unlock(_ file: Int32, _ level: Int32) {
        if exclusive == file { exclusive = nil }
        if pending == file { pending = nil }
        if reserved == file { reserved = nil }
        if level < SQLITE_LOCK_SHARED { shared.remove(file) }
    }

    /// Takes or gives back locks of the shared memory. Whether no other connection was in the way.
    mutating func lockMemory(_ file: Int32, _ range: Range<Int>, _ flags: Int32) -> Bool {
        users.insert(file)
        let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
        if flags & SQLITE_SHM_UNLOCK != 0 {
            for slot in range {
                if isExclusive {
                    if memoryExclusive[slot] == file { memoryExclusive[slot] = nil }
                } else {
                    memoryShared[slot].remove(file)
                }
            }
            return true
        }
        for slot in range {
            if let holder = memoryExclusive[slot], holder != file { return false }
            if isExclusive, memoryShared[slot].contains(where: { $0 != file }) { return false }
        }
        for slot in range {
            if isExclusive { memoryExclusive[slot] = file } else { memoryShared[slot].insert(file) }
        }
        return true
    }

    /// Drops everything that a connection holds, when its file is closed. The memory goes with its last user, as a new
    /// user of an unused file of SQLite's begins with an empty one.
    mutating func release(_ file: Int32) {
        unlock(file, SQLITE_LOCK_NONE)
        for slot in memoryShared.indices {
            memoryShared[slot].remove(file)
            if memoryExclusive[slot] == file { memoryExclusive[slot] = nil }
        }
        users.remove(file)
        if users.isEmpty { mapped = nil }
    }
}

/// The shared memory of a log, in regions.
///
/// SQLite reads and writes it with its own locks and barriers; the list of regions has a lock.
final class SharedMemory: Sendable {
    private struct Regions: @unchecked Sendable {  // The pointers are only handed to SQLite, which orders their use.
        var all: [UnsafeMutableRawPointer] = []
    }

    private let regions = Locked(Regions())

    deinit {
        for region in regions.withLock({ $0.all }) { region.deallocate() }
    }

    /// The region `number`; `nil` if it does not exist and is not to be made.
    func region(_ number: Int, size: Int, extends: Bool) -> UnsafeMutableRawPointer? {
        let address: UInt = regions.withLock { regions in
            while regions.all.count <= number {
                guard extends else { return 0 }
                let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
                memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
                regions.all.append(memory)
            }
            return UInt(bitPattern: regions.all[number])
        }
        return UnsafeMutableRawPointer(bitPattern: address)
    }
}
