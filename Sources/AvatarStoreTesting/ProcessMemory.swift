#if os(Linux)
import AvatarFoundation

/// The physical memory of this process, as Linux reports it in `/proc/self/status`.
public enum ProcessMemory {
    /// The resident memory now (`VmRSS`), in bytes.
    ///
    /// - Throws: `CocoaError` if `/proc/self/status` cannot be read or lacks the value.
    public static func current() throws -> Int { try value(of: "VmRSS:") }

    /// The peak of the resident memory since the process began, or since `resetPeak()` (`VmHWM`), in bytes.
    ///
    /// - Throws: `CocoaError` if `/proc/self/status` cannot be read or lacks the value.
    public static func peak() throws -> Int { try value(of: "VmHWM:") }

    /// Resets the peak to the current resident memory.
    ///
    /// - Throws: `CocoaError` if `/proc/self/clear_refs` cannot be written.
    public static func resetPeak() throws {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    }

    private static func value(of name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        return kilobytes * 1024
    }
}
#endif
