package import AvatarFiles
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The operating system's file calls, of which some fail as a test asks.
package final class FaultyFileSystem: FileSystem {
    /// A call that can be made to fail.
    package enum Call: String, Sendable, CaseIterable {
        case open
        case write
        case synchronize
        case rename
        case link
        case unlink
        case makeDirectory
    }

    private struct Fault {
        var after: Int
        var times: Int
        var number: Int32
    }

    private let real = LocalFileSystem()
    private let faults = Mutex<[Call: Fault]>([:])
    private let counts = Mutex<[Call: Int]>([:])
    private let interruptions = Mutex<[Call: @Sendable () -> Void]>([:])

    package init() {}

    /// Lets `call` fail with `errno` number `number`, `times` times, once `after` more calls succeeded.
    package func fail(_ call: Call, with number: Int32, after: Int = 0, times: Int = 1) {
        faults.withLock { $0[call] = Fault(after: after, times: times, number: number) }
    }

    /// Runs `body` before the next `call`, on the thread that makes it.
    package func interrupt(_ call: Call, with body: @escaping @Sendable () -> Void) {
        interruptions.withLock { $0[call] = body }
    }

    /// All calls succeed again.
    package func heal() {
        faults.withLock { $0 = [:] }
    }

    /// How often `call` was made so far.
    package func count(of call: Call) -> Int {
        counts.withLock { $0[call, default: 0] }
    }

    package func open(_ path: String, in directory: Int32, flags: Int32, mode: UInt32) throws(SystemCallError) -> Int32
    {
        try check(.open, path)
        return try real.open(path, in: directory, flags: flags, mode: mode)
    }

    package func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int,
        named path: String
    ) throws(SystemCallError) {
        try check(.write, path)
        try real.write(bytes, to: file, at: offset, named: path)
    }

    package func synchronize(_ file: Int32, named path: String) throws(SystemCallError) {
        try check(.synchronize, path)
        try real.synchronize(file, named: path)
    }

    package func rename(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        try check(.rename, target)
        try real.rename(source, in: sourceDirectory, to: target, in: targetDirectory)
    }

    package func link(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        try check(.link, target)
        try real.link(source, in: sourceDirectory, to: target, in: targetDirectory)
    }

    package func unlink(_ path: String, in directory: Int32) throws(SystemCallError) {
        try check(.unlink, path)
        try real.unlink(path, in: directory)
    }

    package func makeDirectory(_ path: String, in directory: Int32, mode: UInt32) throws(SystemCallError) -> Bool {
        try check(.makeDirectory, path)
        return try real.makeDirectory(path, in: directory, mode: mode)
    }

    private func check(_ call: Call, _ path: String) throws(SystemCallError) {
        counts.withLock { $0[call, default: 0] += 1 }
        interruptions.withLock { $0.removeValue(forKey: call) }?()
        let number = faults.withLock { faults -> Int32? in
            guard var fault = faults[call] else { return nil }
            defer { faults[call] = fault }
            if fault.after > 0 {
                fault.after -= 1
                return nil
            }
            guard fault.times > 0 else { return nil }
            fault.times -= 1
            return fault.number
        }
        if let number { throw SystemCallError(call.rawValue, path, number: number) }
    }
}
