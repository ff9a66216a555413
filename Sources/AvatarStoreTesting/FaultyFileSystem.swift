package import AvatarFileSystem
package import AvatarFoundation

/// The real file system, in which a test makes single calls fail.
package final class FaultyFileSystem: ForwardingFileSystem {
    /// A call that can be made to fail.
    package enum Call: String, Sendable, CaseIterable {
        case open
        case write
        case synchronize
        case rename
        case link
        case unlink
        case makeDirectory
        case status
    }

    /// The failures planned for one kind of call.
    private struct Fault {
        /// Calls that still succeed first.
        var after: Int
        /// Calls that then fail.
        var times: Int
        /// The value of `errno`.
        var number: Int32
        /// A part of the paths whose calls are meant; `nil`: all are.
        var path: String?
    }

    package let real = LocalFileSystem()
    /// The paths by which the open files were opened, for the calls that have a descriptor only.
    private let paths = Locked<[Int32: String]>([:])
    private let faults = Locked<[Call: Fault]>([:])
    private let counts = Locked<[Call: Int]>([:])
    private let failures = Locked(0)
    private let interruptions = Locked<[Call: @Sendable () -> Void]>([:])

    /// Makes a file system in which every call succeeds.
    package init() {}

    /// Makes a kind of call fail. Replaces an earlier plan for it.
    ///
    /// - Parameters:
    ///   - call: The kind of call.
    ///   - number: The value of `errno`, such as `ENOSPC`.
    ///   - after: How many calls succeed first. Default: 0.
    ///   - times: How many calls fail then. Default: 1.
    ///   - path: A part of the path, as the call has it: often a name in an open directory. Other calls succeed, and do not
    ///     count. Default: all calls are meant.
    package func fail(_ call: Call, with number: Int32, after: Int = 0, times: Int = 1, matching path: String? = nil) {
        faults.withLock { $0[call] = Fault(after: after, times: times, number: number, path: path) }
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

    /// How many calls have failed as planned.
    package var failureCount: Int {
        failures.withLock(\.self)
    }

    package func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        opened(path) { real.openat(directory, path, flags, mode) }
    }

    package func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        opened(path) { real.openBeneath(directory, path, flags) }
    }

    @discardableResult
    package func close(_ file: Int32) -> Int32 {
        paths.withLock { _ = $0.removeValue(forKey: file) }
        return real.close(file)
    }

    package func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int {
        isFailing(.write, path(of: file)) ? -1 : real.pwrite(file, buffer, count, offset)
    }

    @discardableResult
    package func fsync(_ file: Int32) -> Int32 {
        isFailing(.synchronize, path(of: file)) ? -1 : real.fsync(file)
    }

    package func syncfs(_ file: Int32) -> Int32 {
        isFailing(.synchronize, path(of: file)) ? -1 : real.syncfs(file)
    }

    package func renameat(
        _ sourceDirectory: Int32,
        _ source: String,
        _ targetDirectory: Int32,
        _ target: String
    ) -> Int32 {
        isFailing(.rename, target) ? -1 : real.renameat(sourceDirectory, source, targetDirectory, target)
    }

    @discardableResult
    package func linkat(
        _ sourceDirectory: Int32,
        _ source: String,
        _ targetDirectory: Int32,
        _ target: String
    ) -> Int32 {
        isFailing(.link, target) ? -1 : real.linkat(sourceDirectory, source, targetDirectory, target)
    }

    @discardableResult
    package func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        isFailing(.unlink, path) ? -1 : real.unlinkat(directory, path, flags)
    }

    package func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32 {
        isFailing(.makeDirectory, path) ? -1 : real.mkdirat(directory, path, mode)
    }

    package func fstat(_ file: Int32, _ information: inout stat) -> Int32 {
        isFailing(.status, path(of: file)) ? -1 : real.fstat(file, &information)
    }

    package func fstatat(_ directory: Int32, _ path: String, _ information: inout stat, _ flags: Int32) -> Int32 {
        isFailing(.status, path) ? -1 : real.fstatat(directory, path, &information, flags)
    }

    /// Opens the file at `path` by `body`, unless the call is to fail.
    private func opened(_ path: String, _ body: () -> Int32) -> Int32 {
        if isFailing(.open, path) { return -1 }
        // Under the lock, so that a descriptor that another thread closes meanwhile is not taken for this one.
        return paths.withLock { paths in
            let file = body()
            if file >= 0 { paths[file] = path }
            return file
        }
    }

    /// The path by which `file` was opened.
    private func path(of file: Int32) -> String {
        paths.withLock { $0[file] ?? "" }
    }

    /// Counts the call and runs the body that waits for it.
    ///
    /// - Returns: whether the call is to fail; `errno` is set then.
    private func isFailing(_ call: Call, _ path: String) -> Bool {
        counts.withLock { $0[call, default: 0] += 1 }
        interruptions.withLock { $0.removeValue(forKey: call) }?()
        let number = faults.withLock { faults -> Int32? in
            guard var fault = faults[call], fault.path.map(path.contains) ?? true else { return nil }
            defer { faults[call] = fault }
            if fault.after > 0 {
                fault.after -= 1
                return nil
            }
            guard fault.times > 0 else { return nil }
            fault.times -= 1
            return fault.number
        }
        guard let number else { return false }
        failures.withLock { $0 += 1 }
        errno = number
        return true
    }
}
