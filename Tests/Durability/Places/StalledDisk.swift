import Foundation
import ProgramRunning

/// An ext4 file system whose data can be held back while its journal advances: the moment before a power cut in which
/// the size of a file is on the disk and its bytes are not.
///
/// The journal is a device of its own. The image of the rest lies in another file system, which is frozen.
final class StalledDisk: Sendable {
    let path: String
    private let workplace: Workplace
    private let journal: String
    private let host: Mount
    private let disk: Mount

    init(in workplace: Workplace) async throws {
        self.workplace = workplace
        path = workplace.path("disk")
        try await Mount.makeImage(workplace.path("host.image"), megabytes: 256)
        host = try await Mount(image: workplace.path("host.image"), at: workplace.path("host"))
        try await Mount.run("/usr/bin/truncate", ["-s", "128M", workplace.path("host/image")])
        try await Mount.run("/usr/bin/truncate", ["-s", "32M", workplace.path("journal")])
        journal = try await Self.attach(workplace.path("journal"))
        try await Mount.run("/usr/sbin/mke2fs", ["-q", "-F", "-O", "journal_dev", "-b", "4096", journal])
        let layout = ["-q", "-F", "-b", "4096", "-J", "device=\(journal)"]
        try await Mount.run("/usr/sbin/mkfs.ext4", layout + [workplace.path("host/image")])
        disk = try await Mount(image: workplace.path("host/image"), at: path, options: "commit=1")
    }

    deinit {
        // A failed test leaves the disk frozen, and it could not be unmounted.
        let directory = open(workplace.path("host"), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        _ = ioctl(directory, Self.thaw, 0)
        close(directory)
    }

    private static let freeze: UInt = 0xC004_5877
    private static let thaw: UInt = 0xC004_5878

    /// Starts to write all data in memory, and lets none of it arrive; the journal is written every second.
    func stall() async throws {
        try control(Self.freeze)
        _ = try await workplace.start(tool: "/usr/bin/sync", ["-f", path])
    }

    /// The present content of the disk, as another disk.
    func cut() async throws -> (image: String, journal: String) {
        try await Mount.run("/usr/bin/cp", ["--sparse=always", workplace.path("host/image"), workplace.path("cut")])
        try await Mount.run(
            "/usr/bin/cp",
            ["--sparse=always", workplace.path("journal"), workplace.path("cut.journal")]
        )
        return (workplace.path("cut"), try await Self.attach(workplace.path("cut.journal")))
    }

    /// Lets the data arrive.
    func goOn() throws {
        try control(Self.thaw)
    }

    /// Removes the disk; `cut` stays.
    func remove() async throws {
        try await disk.unmount()
        try await Mount.run("/usr/sbin/losetup", ["-d", journal])
    }

    /// FIFREEZE and FITHAW of the file system that has the image.
    private func control(_ request: UInt) throws {
        let directory = open(workplace.path("host"), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw MountError(description: "open host: \(errno)") }
        defer { close(directory) }
        guard ioctl(directory, request, 0) == 0 else { throw MountError(description: "freeze: \(errno)") }
    }

    /// The loop device of the file `image`.
    private static func attach(_ image: String) async throws -> String {
        try await Mount.run("/usr/sbin/losetup", ["--show", "-f", image])
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
