package import AvatarFiles
import AvatarFoundation
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
        /// succeed without it, but for the first one through another descriptor that is open. After a failed `syncfs` the first
        /// `fsync` of each file that lost bytes fails too.
        case fails(Int32)
        /// A synchronization of a file fails with `EIO`, and the system drops the bytes at once, as Btrfs does.
        case drops
        /// A read or write does a part of the bytes only.
        case isShort
        /// A synchronization reports success and does nothing.
        case lies
        /// The process is killed instead: its files are closed, its locks are free, each later call fails.
        case kills
    }

    /// Asked and told before a call. A type of its own: a closure that is itself in a lock is wrapped once more by each
    /// look at it.
    private struct Hooks {
        var watcher: (@Sendable (Call, DiskImage) -> Void)?
        var faults: (@Sendable (Call) -> Fault?)?
    }

    private let machine: Locked<SimulatedMachine>
    private let hooks = Locked(Hooks())
    /// The id of this boot of the simulated machine.
    package let bootID: BootID

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
        machine = Locked(SimulatedMachine(image, capacity: capacity))
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
        machine.withLock { $0.capacity = bytes }
    }

    /// Drops the pages of all files. Bytes that a failed synchronization has lost cannot be read any more.
    package func dropCaches() {
        machine.withLock { $0.dropCaches() }
    }

    /// Ends all processes at once, without a further call.
    package func turnOff() {
        machine.withLock { $0.isOff = true }
    }

    /// Puts a file with `bytes` at the absolute `path` of the disk, on stable storage, with its folders.
    package func put(_ bytes: [UInt8], at path: String) {
        machine.withLock { $0.put(bytes, at: path) }
    }

    /// Makes a symbolic link at the absolute `path` of the disk, as another program would. Its folder must exist.
    package func makeLink(at path: String, to target: String) {
        machine.withLock { machine in
            do throws(Errno) {
                try machine.symlink(target, at: path)
            } catch {
                preconditionFailure("The folder of the link \(path) does not exist (\(error.number)).")
            }
        }
    }

    // MARK: Calls

    /// The file or the path on which a call is made.
    enum Subject {
        case path(String)
        case file(Int32)
    }

    /// Makes one call of `process`: counts it, asks for a fault, and sets `errno` if it fails.
    ///
    /// - Parameters:
    ///   - changes: whether the watcher is told.
    ///   - failed: the result of a call that fails.
    ///   - body: the call. It does itself what `isShort` and `lies` say, and what a synchronization that fails loses.
    func call<Result: Sendable>(
        _ name: String,
        _ subject: Subject = .path(""),
        by process: Int,
        changes: Bool = false,
        orElse failed: Result,
        _ body: (inout SimulatedMachine, Fault?) throws(Errno) -> Result
    ) -> Result {
        let outcome: Swift.Result<Result, Errno> = machine.withLock { machine in
            Swift.Result { () throws(Errno) in
                let number = try machine.begin(process)
                let path =
                    switch subject {
                    case .path(let path): path
                    case .file(let file): machine.path(of: file)
                    }
                let call = Call(number: number, name: name, path: path)
                let hooks = hooks.withLock { $0 }
                if changes { hooks.watcher?(call, machine.image) }
                let fault = hooks.faults?(call)
                if case .fails(let number)? = fault, name != "fsync", name != "syncfs" { throw Errno(number) }
                if fault == .kills {
                    machine.end(process)
                    throw Errno(EIO)
                }
                return try body(&machine, fault)
            }
        }
        switch outcome {
        case .success(let result): return result
        case .failure(let error):
            errno = error.number
            return failed
        }
    }

    /// Looks at or changes the locks that SQLite's connections have on the file that is open as `file`. No call is counted.
    func withDatabase<Result: Sendable>(
        _ file: Int32,
        by process: Int,
        orElse failed: Result,
        _ body: (inout DatabaseLocks) -> Result
    ) -> Result {
        machine.withLock { machine in
            machine.isAlive(process) ? machine.withDatabase(file, body) ?? failed : failed
        }
    }

    /// Whether the process was not killed, and the power is on.
    func isAlive(_ process: Int) -> Bool {
        machine.withLock { $0.isAlive(process) }
    }

    /// Kills a process.
    func end(_ process: Int) {
        machine.withLock { $0.end(process) }
    }
}
