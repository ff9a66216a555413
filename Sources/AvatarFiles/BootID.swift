#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Identifies the current boot of the operating system. Bytes that were written but not synchronized survive a killed
/// process, but not a reboot; as long as the boot id is the same, they are still there.
package enum BootID {
    /// The id of this boot. Without one, as on Linux without /proc, it is a text that `isCurrent` never accepts.
    package static let current = read() ?? unknown

    /// The id on a system that has none.
    private static let unknown = "unknown"

    /// Whether `id` is that of this boot; false if the system has no boot id.
    package static func isCurrent(_ id: String) -> Bool {
        id == current && id != unknown
    }

    #if canImport(Glibc)
    /// The kernel's random id of this boot; `nil` if /proc is not mounted or not readable.
    private static func read() -> String? {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, Glibc.read(file, buffer.baseAddress, 64))
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
