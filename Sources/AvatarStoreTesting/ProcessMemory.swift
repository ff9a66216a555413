#if os(Linux)
import Foundation

/// What Linux says of the physical memory of this process.
public enum ProcessMemory {
    /// What it has now, in bytes.
    public static func current() throws -> Int { try value(of: "VmRSS:") }

    /// The most it had at once since it began, or since `resetPeak()`, in bytes.
    public static func peak() throws -> Int { try value(of: "VmHWM:") }

    /// Begins a new peak, with what it has now.
    public static func resetPeak() throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "/proc/self/clear_refs"))
        try file.write(contentsOf: Data("5".utf8))
        try file.close()
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
