import AvatarFileSystem
import AvatarFoundation

/// Identifies a boot of the operating system. Bytes that were written but not synchronized survive a killed process, but
/// not a reboot; as long as the boot id is the same, they are still there.
package struct BootID: Hashable, Sendable {
    /// The id of the boot that runs now. Without one, as on Linux without /proc, it is a text that `isRecorded(as:)` never
    /// accepts.
    package static let current = BootID(read() ?? unknown)

    /// The id, as an index records it.
    package let text: String

    /// The boot with the id `text`.
    package init(_ text: String) {
        self.text = text
    }

    /// The id on a system that has none.
    private static let unknown = "unknown"

    /// Whether `id` is that of this boot; false if the system has no boot id.
    package func isRecorded(as id: String) -> Bool {
        id == text && id != Self.unknown
    }

    #if canImport(Glibc)
    /// The kernel's random id of this boot; `nil` if /proc is not mounted or not readable.
    private static func read() -> String? {
        let system = LocalFileSystem()
        let file = system.openat(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0)
        guard file >= 0 else { return nil }
        defer { system.close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, system.pread(file, buffer.baseAddress, 64, 0))
        }
        let id = String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
        return id.isEmpty ? nil : id
    }
    #else
    /// The UUID of this boot session; `nil` if the system does not report one.
    private static func read() -> String? {
        var length = 64
        var bytes = [CChar](repeating: 0, count: length)
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &length, nil, 0) == 0 else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    #endif
}
