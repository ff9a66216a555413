import AvatarStoreTesting
import Foundation
import ProgramRunning
import Synchronization

/// A file system of the test's own in a directory of a workplace, unmounted in the end.
final class Mount: Sendable {
    static let absence = "needs the right to mount: sudo scripts/test, on a machine of its own"

    /// Whether the test is allowed to mount.
    static var isPossible: Bool {
        get async { await probe.value }
    }

    private static let probe = Task {
        guard geteuid() == 0, let workplace = try? Workplace() else { return false }
        return (try? await Mount(memory: "1m", at: workplace.path("probe"))) != nil
    }

    let path: String
    /// The file with the file system; `nil` for one in memory.
    private let image: String?
    private let isUnmounted = Mutex(false)

    /// A file system in memory with at most `size` bytes.
    convenience init(memory size: String, at path: String) async throws {
        try await self.init(["-t", "tmpfs", "-o", "size=\(size),mode=700", "none", path], at: path, image: nil)
    }

    /// The ext4 file system in the file `image`, with a journal, like a server's disk.
    convenience init(image: String, at path: String, options: String...) async throws {
        let arguments = ["-t", "ext4", "-o", (["loop"] + options).joined(separator: ","), image, path]
        try await self.init(arguments, at: path, image: image)
    }

    private init(_ arguments: [String], at path: String, image: String?) async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try await Self.run("/usr/bin/mount", arguments)
        (self.path, self.image) = (path, image)
    }

    deinit {
        // Another file system may lie there now.
        if !isUnmounted.withLock({ $0 }) { umount2(path, Int32(MNT_DETACH)) }
    }

    /// Makes a file system in memory larger.
    func resize(to size: String) async throws {
        try await Self.run("/usr/bin/mount", ["-o", "remount,size=\(size)", path])
    }

    /// Makes the file system read-only, or writable again.
    func setReadOnly(_ isReadOnly: Bool) async throws {
        try await Self.run("/usr/bin/mount", ["-o", "remount,\(isReadOnly ? "ro" : "rw")", path])
    }

    /// Fills the file system but for `room` bytes.
    func fill(leaving room: Int) throws {
        let filler = open(path + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard filler >= 0 else { throw MountError(description: "open \(path)/filler: \(errno)") }
        defer { close(filler) }
        let block = [UInt8](repeating: 0, count: 4096)
        var size = 0
        while true {
            let count = write(filler, block, block.count)
            guard count > 0 else { break }
            size += count
        }
        guard errno == ENOSPC, ftruncate(filler, off_t(max(0, size - room))) == 0 else {
            throw MountError(description: "filling \(path): \(errno)")
        }
    }

    /// Stops the file system like a power cut: data not on the disk by now is lost.
    func losePower() throws {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw MountError(description: "open \(path): \(errno)") }
        defer { close(directory) }
        // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
        var flags: UInt32 = 2
        guard ioctl(directory, 0x8004_587D, &flags) == 0 else { throw MountError(description: "shutdown: \(errno)") }
    }

    private func setUnmounted() { isUnmounted.withLock { $0 = true } }

    /// Unmounts the file system, waiting until no process uses it.
    func unmount() async throws {
        try await waitUntil(every: .milliseconds(10)) {
            if umount2(path, 0) == 0 { return true }
            guard errno == EBUSY else { throw MountError(description: "umount \(path): \(errno)") }
            return false
        }
        setUnmounted()
        guard let image else { return }
        // The loop device lets go of its file a moment later. A second one on the same file would not see what the first one
        // has still to write.
        try await waitUntil(every: .milliseconds(10)) {
            try await Self.run("/usr/sbin/losetup", ["-j", image]).isEmpty
        }
    }

    /// A new, empty ext4 file system of `megabytes`.
    static func makeImage(_ path: String, megabytes: Int) async throws {
        try await run("/usr/bin/truncate", ["-s", "\(megabytes)M", path])
        try await run("/usr/sbin/mkfs.ext4", ["-q", "-F", path])
    }

    /// Runs a tool of the system, and gives its output.
    @discardableResult
    static func run(_ tool: String, _ arguments: [String]) async throws -> String {
        let run = try await Workplace().run(tool: tool, arguments)
        guard run.status == 0 else {
            throw MountError(description: "\(tool) \(arguments.joined(separator: " ")): \(run.status) \(run.messages)")
        }
        return run.text
    }
}

struct MountError: Error, CustomStringConvertible {
    let description: String
}
