import AvatarFileSystem
import AvatarStoreTesting
import Dispatch
import Synchronization
import Workload

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The operating system's file calls; one of them kills the process with SIGKILL.
final class KillingFileSystem: ForwardingFileSystem {
    let real = LocalFileSystem()
    private let point: KillPoint?
    private let count = Atomic<Int>(0)

    init(_ point: KillPoint?) {
        self.point = point
    }

    func openat(_ directory: Int32, _ path: String, _ flags: Int32, _ mode: UInt32) -> Int32 {
        at(.open) { real.openat(directory, path, flags, mode) }
    }

    func openBeneath(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        at(.open) { real.openBeneath(directory, path, flags) }
    }

    func pwrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ offset: Int) -> Int {
        at(.write) { real.pwrite(file, buffer, count, offset) }
    }

    func fsync(_ file: Int32) -> Int32 {
        at(.synchronize) { real.fsync(file) }
    }

    func syncfs(_ file: Int32) -> Int32 {
        at(.synchronize) { real.syncfs(file) }
    }

    func renameat(_ sourceDirectory: Int32, _ source: String, _ targetDirectory: Int32, _ target: String) -> Int32 {
        at(.rename) { real.renameat(sourceDirectory, source, targetDirectory, target) }
    }

    func linkat(_ sourceDirectory: Int32, _ source: String, _ targetDirectory: Int32, _ target: String) -> Int32 {
        at(.link) { real.linkat(sourceDirectory, source, targetDirectory, target) }
    }

    func unlinkat(_ directory: Int32, _ path: String, _ flags: Int32) -> Int32 {
        at(.unlink) { real.unlinkat(directory, path, flags) }
    }

    func mkdirat(_ directory: Int32, _ path: String, _ mode: UInt32) -> Int32 {
        at(.makeDirectory) { real.mkdirat(directory, path, mode) }
    }

    /// Makes the call `body`, which is of the kind `call`, and kills the process there if it is that of the kill point.
    private func at<Result>(_ call: FaultyFileSystem.Call, _ body: () -> Result) -> Result {
        let isLast = begin(call)
        let result = body()
        // What `end` does must not change the result's reason.
        let number = errno
        end(isLast)
        errno = number
        return result
    }

    /// Whether this is the call of the kill point. Does not return if the kill point is before the call.
    private func begin(_ call: FaultyFileSystem.Call) -> Bool {
        guard let point, call == point.call, count.add(1, ordering: .relaxed).newValue == point.number else {
            return false
        }
        if point.moment == .before { die() }
        return true
    }

    private func end(_ isLast: Bool) {
        guard isLast, let point else { return }
        guard point.delay > 0 else { return die() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(point.delay)) { [self] in die() }
    }

    private func die() {
        kill(getpid(), SIGKILL)
        // The signal may take a moment to arrive. Do nothing meanwhile.
        while true { pause() }
    }
}
