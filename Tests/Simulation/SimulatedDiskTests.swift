import AvatarFileSystem
import AvatarFoundation
import AvatarSQLite
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing
import Workload

/// The simulated disk itself: it answers as the system does, and it loses what it may lose and nothing else.
@Suite(.timeLimit(.minutes(5)))
struct SimulatedDiskTests {
    // MARK: As the system

    @Test("random calls have the same results on the system's file system", arguments: 0..<20 as Range<UInt64>)
    func agreesWithTheSystem(round: UInt64) throws {
        let seed = TestMode.seed + round
        let directory = NSTemporaryDirectory() + "avatar-disk-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        var real = FileCalls(LocalFileSystem(), in: directory, seed: seed)
        let process = SimulatedProcess(on: SimulatedDisk())
        var simulated = FileCalls(process, in: process.root, seed: seed)
        for number in 0..<400 {
            var (expected, came) = (real.next(), simulated.next())
            let end = ContinuousClock.now + .seconds(60)
            while came == "0", expected == "error \(EWOULDBLOCK)", ContinuousClock.now < end {
                // A program that another test has just started holds copies of all descriptors until it runs, and so the locks of those
                // that are closed here.
                usleep(1000)
                expected = real.lockAgain()
            }
            try #require(came == expected, "AVATARS_SEED=\(seed), call \(number)")
        }
        try FileManager.default.removeItem(atPath: directory)
    }

    @Test func pathsBeneathAFolderLeadThroughNoLink() throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        disk.put(Array("face".utf8), at: "/store/aa/1.png")
        disk.makeLink(at: "/store/bb", to: "aa")
        let store = try process.open(process.root + "/store", flags: O_RDONLY | O_DIRECTORY)
        #expect(process.openBeneath(store, "aa/1.png", O_RDONLY) >= 0)
        #expect(process.openBeneath(store, "bb/1.png", O_RDONLY) == -1 && errno == ELOOP)
        #expect(process.openBeneath(store, "aa/../aa/1.png", O_RDONLY) == -1 && errno == EXDEV)
        #expect(process.openat(store, "bb/1.png", O_RDONLY, 0) >= 0, "openat follows links")
        #expect(process.readlinkat(store, "bb") == Array("aa".utf8))
        #expect(process.realpath(process.root + "/store/bb/1.png") == process.root + "/store/aa/1.png")
    }

    @Test func aFullDiskRefusesBytesAndKeepsThoseItHas() throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let file = try process.open(process.root + "/file", flags: O_RDWR | O_CREAT, mode: 0o600)
        disk.setCapacity(5)
        let bytes: [UInt8] = [1, 2, 3, 4]
        #expect(process.pwrite(file, bytes, 4, 0) == 4)
        #expect(process.pwrite(file, bytes, 4, 4) == -1 && errno == ENOSPC)
        #expect(process.pwrite(file, bytes, 4, 0) == 4, "bytes that are there may change")
        #expect(disk.image.byteCount(below: "/") == 4)
    }

    @Test func aKilledProcessFreesItsLocksAndDoesNothingMore() throws {
        let disk = SimulatedDisk()
        let (first, second) = (SimulatedProcess(on: disk), SimulatedProcess(on: disk))
        let mine = try first.open(first.root + "/lock", flags: O_RDWR | O_CREAT, mode: 0o600)
        let yours = try second.open(second.root + "/lock", flags: O_RDWR)
        #expect(first.lock(mine, LOCK_EX | LOCK_NB) == 0)
        #expect(first.lockByte(mine, at: 7) == 1)
        #expect(second.lock(yours, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
        #expect(second.lockByte(yours, at: 7) == 0)
        disk.fail { $0.name == "unlink" ? .kills : nil }
        #expect(first.unlinkat(AT_FDCWD, first.root + "/lock", 0) == -1 && errno == EIO)
        disk.fail(nil)
        #expect(first.unlinkat(AT_FDCWD, first.root + "/lock", 0) == -1 && errno == EIO)
        #expect(second.lock(yours, LOCK_EX | LOCK_NB) == 0)
        #expect(second.lockByte(yours, at: 7) == 1)
        second.kill()
        #expect(second.unlinkat(AT_FDCWD, second.root + "/lock", 0) == -1)
    }

    // MARK: Loss of power

    private static let losses: [(PowerLossModel, UInt64)] = PowerLossModel.allCases.flatMap { model in
        (0..<40).map { (model, $0) }
    }

    /// Writes `/folder/file`, synchronizes what `steps` name, and returns the content after each loss of power.
    private func contents(_ steps: Set<String>) throws -> Set<String> {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        #expect(process.mkdirat(AT_FDCWD, process.root + "/folder", 0o700) == 0)
        let top = try process.open(process.root, flags: O_RDONLY | O_DIRECTORY)
        if steps.contains("root") { #expect(process.fsync(top) == 0) }
        let folder = try process.open(process.root + "/folder", flags: O_RDONLY | O_DIRECTORY)
        let file = try process.open("file", in: folder, flags: O_RDWR | O_CREAT, mode: 0o600)
        let bytes = Array("whole".utf8)
        try bytes.withUnsafeBytes { try process.write($0, to: file, at: 0, named: "file") }
        if steps.contains("file") { #expect(process.fsync(file) == 0) }
        if steps.contains("folder") { #expect(process.fsync(folder) == 0) }
        if steps.contains("all") { #expect(process.syncfs(top) == 0) }
        return Set(
            Self.losses.map { model, seed in
                let after = SimulatedProcess(on: SimulatedDisk(disk.image.afterLossOfPower(model, seed: seed)))
                let found = after.openat(AT_FDCWD, after.root + "/folder/file", O_RDONLY, 0)
                guard found >= 0 else { return "no file" }
                var buffer = [UInt8](repeating: 0, count: 100)
                let count = after.pread(found, &buffer, 100, 0)
                return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
            }
        )
    }

    @Test func whatIsSynchronizedIsThere() throws {
        #expect(try contents(["root", "file", "folder"]) == ["whole"])
        #expect(try contents(["all"]) == ["whole"])
    }

    @Test func whatIsNotSynchronizedMayBeGone() throws {
        #expect(try contents([]).contains("no file"))
        #expect(try contents(["root", "folder"]).contains(""), "a file may lose its bytes")
        #expect(try contents(["root", "folder"]).contains("\0\0\0\0\0"), "a file may have zeros")
        #expect(try contents(["root", "file"]).contains("no file"), "POSIX does not keep the name of a file")
        #expect(try contents(["file", "folder"]).contains("no file"), "POSIX does not keep the name of the folder")
        #expect(try contents([]).contains("whole"), "the disk may have written it all the same")
    }

    @Test func aFailedSynchronizationLosesWhatItWasToWrite() throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let file = try process.open(process.root + "/file", flags: O_RDWR | O_CREAT, mode: 0o600)
        try [1, 2, 3].withUnsafeBytes { try process.write($0, to: file, at: 0, named: "file") }
        disk.fail { $0.name == "fsync" ? .fails(EIO) : nil }
        #expect(process.fsync(file) == -1)
        disk.fail(nil)
        #expect(process.fsync(file) == 0)
        #expect(process.syncfs(file) == 0)
        let after = SimulatedProcess(on: SimulatedDisk(disk.image.afterLossOfPower(.ordered, seed: 1)))
        var information = stat()
        #expect(after.fstatat(AT_FDCWD, after.root + "/file", &information, 0) == 0)
        #expect(information.st_size == 0)
    }

    // MARK: SQLite

    @Test("rows that SQLite has committed are there after each loss of power, and the database is whole")
    func committedRowsSurvive() throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let connection = try Connection(
            path: process.root + "/index.sqlite",
            access: .readWrite,
            vfs: process.databaseVFS
        )
        try connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (n INTEGER, b BLOB)"
        )
        var moments: [(Int, DiskImage)] = []
        for number in 1...30 {
            try connection.execute("INSERT INTO t VALUES (\(number), randomblob(3000))")
            moments.append((number, disk.image))
            if number % 10 == 0 { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        }
        for (number, image) in moments {
            for (model, seed) in Self.losses where seed < 4 {
                let after = SimulatedProcess(on: SimulatedDisk(image.afterLossOfPower(model, seed: seed)))
                let found = try Connection(
                    path: after.root + "/index.sqlite",
                    access: .readWriteExisting,
                    vfs: after.databaseVFS
                )
                #expect(try found.integer("SELECT count(*) FROM t") == Int64(number), "\(model) \(seed)")
                #expect(try found.text("PRAGMA integrity_check") == "ok", "\(model) \(seed)")
            }
        }
    }
}

/// Random calls on few names below a directory, each with its result as text.
private struct FileCalls {
    private let system: any FileSystem
    private let top: Int32
    private var random: RandomOperations
    private var open: [Int32] = []
    private var lastLock: (file: Int32, operation: Int32)?

    init(_ system: any FileSystem, in directory: String, seed: UInt64) {
        self.system = system
        random = RandomOperations(seed: seed)
        top = system.openat(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0)
    }

    private mutating func path() -> String {
        let names = ["a", "b", "c"]
        let name = names[random.number(below: 3)]
        return random.chance(50) ? name : "d" + names[random.number(below: 2)] + "/" + name
    }

    private mutating func folder() -> String { ["da", "db", "da/dc"][random.number(below: 3)] }

    private func result(_ value: Int32) -> String { value < 0 ? "error \(errno)" : "\(value)" }

    mutating func next() -> String {
        switch random.number(below: 14) {
        case 0: return result(system.mkdirat(top, folder(), 0o700))
        case 1: return result(system.unlinkat(top, folder(), AT_REMOVEDIR))
        case 2: return result(system.unlinkat(top, path(), 0))
        case 3: return result(system.renameat(top, path(), top, path()))
        case 4: return result(system.linkat(top, path(), top, path()))
        case 5: return result(system.renameat(top, folder(), top, folder()))
        case 6, 7:
            let flags = [O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_EXCL, O_RDONLY, O_RDWR | O_TRUNC][
                random.number(below: 4)
            ]
            let file = system.openat(top, path(), flags, 0o600)
            if file < 0 { return "error \(errno)" }
            if open.count == 4 { _ = system.close(open.removeFirst()) }
            open.append(file)
            return "open"
        case 8, 9: return write()
        case 10: return read()
        case 11:
            var information = stat()
            let found = system.fstatat(top, path(), &information, AT_SYMLINK_NOFOLLOW)
            return found < 0
                ? "error \(errno)" : "\(information.st_mode) \(information.st_size) \(information.st_nlink)"
        case 12:
            let descriptor = system.openBeneath(top, folder(), O_RDONLY | O_DIRECTORY)
            if descriptor < 0 { return "error \(errno)" }
            defer { _ = system.close(descriptor) }
            return (system.names(in: descriptor) ?? ["?"]).sorted().joined(separator: " ")
        default: return lock()
        }
    }

    private mutating func write() -> String {
        guard !open.isEmpty else { return "" }
        let file = open[random.number(below: open.count)]
        let bytes = [UInt8](repeating: UInt8(random.number(below: 256)), count: 1 + random.number(below: 3000))
        let offset = random.number(below: 2000)
        if random.chance(30) { return result(system.ftruncate(file, offset)) }
        let count = system.pwrite(file, bytes, bytes.count, offset)
        return count < 0 ? "error \(errno)" : "\(count)"
    }

    private mutating func read() -> String {
        guard !open.isEmpty else { return "" }
        let file = open[random.number(below: open.count)]
        var buffer = [UInt8](repeating: 0, count: 5000)
        let count = system.pread(file, &buffer, buffer.count, random.number(below: 2000))
        return count < 0 ? "error \(errno)" : Image.digest(of: Array(buffer[..<count]))
    }

    private mutating func lock() -> String {
        guard !open.isEmpty else { return "" }
        let file = open[random.number(below: open.count)]
        let operation = [LOCK_SH, LOCK_EX, LOCK_UN][random.number(below: 3)]
        lastLock = (file, operation)
        return lockAgain()
    }

    /// Makes the last call for a lock once more.
    func lockAgain() -> String {
        guard let (file, operation) = lastLock else { return "" }
        return result(system.lock(file, operation | LOCK_NB))
    }
}
