package import AvatarFiles
import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The real file system, in which a test makes single calls fail.
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

    /// The failures planned for one kind of call.
    private struct Fault {
        /// Calls that still succeed first.
        var after: Int
        /// Calls that then fail.
        var times: Int
        /// The value of `errno`.
        var number: Int32
    }

    private let real = LocalFileSystem()
    private let faults = Mutex<[Call: Fault]>([:])
    private let counts = Mutex<[Call: Int]>([:])
    private let interruptions = Mutex<[Call: @Sendable () -> Void]>([:])

    /// Makes a file system in which every call succeeds.
    package init() {}

    /// Makes a kind of call fail. Replaces an earlier plan for it.
    ///
    /// - Parameters:
    ///   - call: The kind of call.
    ///   - number: The value of `errno`, such as `ENOSPC`.
    ///   - after: How many calls succeed first. Default: 0.
    ///   - times: How many calls fail then. Default: 1.
    package func fail(_ call: Call, with number: Int32, after: Int = 0, times: Int = 1) {
        faults.withLock { $0[call] = Fault(after: after, times: times, number: number) }
    }

    /// Runs `body` once, before the next `call` and on its thread.
    package func interrupt(_ call: Call, with body: @escaping @Sendable () -> Void) {
        interruptions.withLock { $0[call] = body }
    }

    /// Lets all calls succeed again.
    package func heal() {
        faults.withLock { $0 = [:] }
    }

    /// How often `call` was made so far, failed calls included.
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

    /// Counts the call, runs the body that waits for it, and throws if it is to fail.
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
