import AvatarFiles
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
final class KillingFileSystem: FileSystem {
    private let real = LocalFileSystem()
    private let point: KillPoint?
    private let count = Atomic<Int>(0)

    init(_ point: KillPoint?) {
        self.point = point
    }

    func open(_ path: String, in directory: Int32, flags: Int32, mode: UInt32) throws(SystemCallError) -> Int32 {
        let isLast = begin(.open)
        let file = try real.open(path, in: directory, flags: flags, mode: mode)
        end(isLast)
        return file
    }

    func write(
        _ bytes: UnsafeRawBufferPointer,
        to file: Int32,
        at offset: Int,
        named path: String
    ) throws(SystemCallError) {
        let isLast = begin(.write)
        try real.write(bytes, to: file, at: offset, named: path)
        end(isLast)
    }

    func synchronize(_ file: Int32, named path: String) throws(SystemCallError) {
        let isLast = begin(.synchronize)
        try real.synchronize(file, named: path)
        end(isLast)
    }

    func rename(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        let isLast = begin(.rename)
        try real.rename(source, in: sourceDirectory, to: target, in: targetDirectory)
        end(isLast)
    }

    func link(
        _ source: String,
        in sourceDirectory: Int32,
        to target: String,
        in targetDirectory: Int32
    ) throws(SystemCallError) {
        let isLast = begin(.link)
        try real.link(source, in: sourceDirectory, to: target, in: targetDirectory)
        end(isLast)
    }

    func unlink(_ path: String, in directory: Int32) throws(SystemCallError) {
        let isLast = begin(.unlink)
        try real.unlink(path, in: directory)
        end(isLast)
    }

    func makeDirectory(_ path: String, in directory: Int32, mode: UInt32) throws(SystemCallError) -> Bool {
        let isLast = begin(.makeDirectory)
        let isNew = try real.makeDirectory(path, in: directory, mode: mode)
        end(isLast)
        return isNew
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
