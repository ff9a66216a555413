package import AvatarCore
package import AvatarFileSystem
import AvatarFoundation

/// The identity of a process that has a store open: an exclusive `flock` on `staging/NAME.lock`, held until the store is
/// closed.
///
/// Pending files, staging folders and the running sync name their holder. If another process can take the lock, the
/// holder is dead, however it ended. No timeout is involved.
///
/// The first byte of the file tells other processes what this one cannot rely on (`Doubts`).
package final class Holder: Sendable {
    /// The data that a process may lack on the disk. The system tells of a failed synchronization once, and only those who had the
    /// file open: other processes learn of it here, even when this one has died.
    package struct Doubts: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The log of the index could not be synchronized, and was not written again.
        package static let log = Doubts(rawValue: 1)
        /// Files could not be synchronized, and the index does not say so.
        package static let files = Doubts(rawValue: 2)
        /// Published files are being synchronized.
        package static let synchronizing = Doubts(rawValue: 4)
        /// The store is being closed: the process will publish nothing more.
        package static let closing = Doubts(rawValue: 8)
    }

    /// The doubts of a process, as others see them.
    package struct State: Sendable {
        package let name: String
        package let isAlive: Bool
        package let doubts: Doubts

        /// Whether files may not be on the disk although nothing in the index says so.
        package var mayHaveLostFiles: Bool {
            doubts.contains(.files) || !isAlive && doubts.contains(.synchronizing)
        }
    }

    /// The doubts that the lock file has, and how many synchronizations are under way.
    private struct Known {
        var doubts: Doubts = []
        var runningCount = 0
        /// The doubts that others can read.
        var told: Doubts = []
    }

    /// 16 random hex digits, new for each holder.
    package let name: String
    /// The folder of the lock file.
    private let staging: Directory
    /// The descriptor of the locked file.
    private let lock: Int32
    private let known = Locked(Known())

    /// Creates a holder with a new name in the folder `staging`.
    ///
    /// - Throws: `storage`, `readOnly` or `diskFull` if the lock file cannot be made or locked.
    package init(in staging: Directory) throws(AvatarStoreError) {
        self.staging = staging
        while true {
            let name = Hexadecimal.random64()
            if let lock = try Self.takeNew(name, in: staging) {
                self.name = name
                self.lock = lock
                return
            }
        }
    }

    deinit {
        staging.fileSystem.close(lock)
    }

    /// Makes the lock file larger, because the transaction that ends this holder's work needs room, and the disk may be
    /// full by then: `giveRoomBack()`. Without effect if the disk has no room for it now.
    package func keepRoom() {
        let room = [UInt8](repeating: 0, count: Self.room)
        let count = room.withUnsafeBytes { staging.fileSystem.pwrite(lock, $0.baseAddress, $0.count, 1) }
        if count < Self.room { giveRoomBack() }
    }

    /// Frees what `keepRoom()` has taken, but for the byte that others read.
    package func giveRoomBack() {
        staging.fileSystem.ftruncate(lock, 1)
    }

    /// Tells other processes of `doubt`, or that it is settled.
    package func set(_ doubt: Doubts, to holds: Bool) {
        change { if holds { $0.doubts.insert(doubt) } else { $0.doubts.remove(doubt) } }
    }

    /// Tells other processes that published files are being synchronized, until `endSynchronizing()`: if this one dies
    /// meanwhile, it may have been told of a failure.
    package func beginSynchronizing() {
        change { $0.runningCount += 1 }
    }

    /// Ends what `beginSynchronizing()` began. A failure must be known to others by now.
    package func endSynchronizing() {
        change { $0.runningCount -= 1 }
    }

    /// The states of the other processes that have the store open, and of those that have died and left something.
    package func others() throws(AvatarStoreError) -> [State] {
        let names: [String]
        do throws(SystemCallError) { names = try Self.names(in: staging) } catch { throw error.storeError }
        var states: [State] = []
        for other in names where other != name {
            if let state = try Self.state(of: other, in: staging) { states.append(state) }
        }
        return states
    }

    private func change(_ body: (inout Known) -> Void) {
        known.withLock { known in
            body(&known)
            var doubts = known.doubts
            if known.runningCount > 0 { doubts.insert(.synchronizing) }
            guard doubts != known.told else { return }
            var byte = doubts.rawValue
            // A disk without room for a byte leaves this process alone with what it knows.
            if staging.fileSystem.pwrite(lock, &byte, 1, 0) == 1 { known.told = doubts }
        }
    }

    /// The state of the holder of an open lock file.
    private static func state(of name: String, isAlive: Bool, _ file: Int32, _ fileSystem: any FileSystem) -> State {
        var byte: UInt8 = 0
        // An empty file has no doubts to tell; one that cannot be read may have any.
        let count = fileSystem.pread(file, &byte, 1, 0)
        let doubts = count < 0 ? [.log, .files] : Doubts(rawValue: count == 1 ? byte : 0)
        return State(name: name, isAlive: isAlive, doubts: doubts)
    }

    /// Removes the lock file. Other processes finish the pending work that still names this holder.
    package func release() {
        // The room is free only after this or after the descriptor is closed, which is later.
        giveRoomBack()
        // If this fails, closing the descriptor still frees the lock, and another process removes the file.
        staging.fileSystem.unlinkat(staging.descriptor, name + Self.suffix, 0)
    }

    /// Leaves the lock file to the next process, as one that has died does.
    package func abandon() {
        _ = staging.fileSystem.lock(lock, LOCK_UN)
    }

    /// The names of all holders with a lock file in `staging`, dead or alive.
    package static func names(in staging: Directory) throws(SystemCallError) -> [String] {
        try staging.names().filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.filter(isName)
    }

    /// The names of all holders with a lock file or a folder in `staging`, dead or alive. A folder without a lock file is
    /// that of a dead holder: a loss of power took the name of its lock.
    package static func traces(in staging: Directory) throws(SystemCallError) -> Set<String> {
        Set(
            try staging.names()
                .map { $0.hasSuffix(suffix) ? String($0.dropLast(suffix.count)) : $0 }
                .filter(isName)
        )
    }

    /// Whether `text` has the form of a holder's name.
    package static func isName(_ text: String) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy(FilePath.isHexadecimal)
    }

    /// Takes over a dead holder. No other process can take it over while the returned value lives.
    ///
    /// Called for each holder with pending work, before that work is finished.
    ///
    /// - Returns: `nil` if the holder is alive or belongs to another user, or if `name` does not have the form of a
    ///   holder's name.
    /// - Throws: `storage`, `readOnly` or `diskFull` if the lock file cannot be opened.
    package static func takeOver(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Holder? {
        // A name from a foreign index may be a path that leads elsewhere.
        guard isName(name) else { return nil }
        let file = staging.fileSystem.openat(staging.descriptor, name + suffix, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        if file < 0, errno == EACCES { return nil }
        guard file >= 0 else { throw SystemCallError("open", staging.path + "/" + name + suffix).storeError }
        guard staging.fileSystem.lock(file, LOCK_EX | LOCK_NB) == 0 else {
            staging.fileSystem.close(file)
            return nil
        }
        return Holder(name: name, staging: staging, lock: file)
    }

    /// The state of a holder that was taken over, as its process has left it.
    package var inherited: State { Self.state(of: name, isAlive: false, lock, staging.fileSystem) }

    /// Whether the holder `name` still holds its lock. The holder of another user counts as alive.
    package static func isAlive(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Bool {
        try state(of: name, in: staging)?.isAlive ?? false
    }

    /// The state of the holder `name`; `nil` if it has no lock file. The holder of another user counts as alive and without doubts.
    ///
    /// - Throws: `storage` or `readOnly` if the lock file cannot be opened.
    package static func state(of name: String, in staging: Directory) throws(AvatarStoreError) -> State? {
        guard isName(name) else { return nil }
        let file = staging.fileSystem.openat(staging.descriptor, name + suffix, O_RDWR | O_NOFOLLOW, 0)
        guard file >= 0 else {
            // A folder or a link with such a name is not of a holder.
            if [ENOENT, EISDIR, ELOOP].contains(errno) { return nil }
            if errno == EACCES { return State(name: name, isAlive: true, doubts: []) }
            throw SystemCallError("open", staging.path + "/" + name + suffix).storeError
        }
        defer { staging.fileSystem.close(file) }
        let isAlive = staging.fileSystem.lock(file, LOCK_SH | LOCK_NB) != 0
        return state(of: name, isAlive: isAlive, file, staging.fileSystem)
    }

    /// A holder whose lock file is open and locked already.
    private init(name: String, staging: Directory, lock: Int32) {
        (self.name, self.staging, self.lock) = (name, staging, lock)
    }

    /// The bytes that `keepRoom()` takes: the frames of a transaction that drops a pending row, several times.
    private static let room = 64 << 10

    /// The end of a lock file's name. `names(in:)` recognises the files of holders by it.
    private static let suffix = ".lock"

    /// Creates and locks the file of `name`.
    ///
    /// - Returns: its descriptor; `nil` if the name is in use, or if another process took the holder for dead between
    ///   creating and locking the file.
    private static func takeNew(_ name: String, in staging: Directory) throws(AvatarStoreError) -> Int32? {
        let file = staging.fileSystem.openat(staging.descriptor, name + suffix, O_RDWR | O_CREAT | O_EXCL, 0o600)
        if file < 0 {
            if errno == EEXIST { return nil }
            throw SystemCallError("open", staging.path + "/" + name + suffix).storeError
        }
        guard staging.fileSystem.lock(file, LOCK_EX | LOCK_NB) == 0 else {
            let error = SystemCallError("flock", staging.path + "/" + name + suffix)
            staging.fileSystem.close(file)
            if error.number == EWOULDBLOCK { return nil }
            // The file system does not support these locks, so another name would not help.
            staging.fileSystem.unlinkat(staging.descriptor, name + suffix, 0)
            throw error.storeError
        }
        var opened = stat()
        var named = stat()
        guard staging.fileSystem.fstat(file, &opened) == 0,
            staging.fileSystem.fstatat(staging.descriptor, name + suffix, &named, AT_SYMLINK_NOFOLLOW) == 0,
            opened.st_ino == named.st_ino
        else {
            staging.fileSystem.close(file)
            return nil
        }
        return file
    }
}
