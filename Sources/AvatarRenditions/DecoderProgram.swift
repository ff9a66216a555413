import AvatarCore
import AvatarFoundation

/// The program to start: its path and the permission to run without a sandbox.
struct DecoderProgram: Sendable {
    /// The name of the program.
    private static let name = "avatars-decoder"

    /// The path of the program.
    let path: String
    /// Whether the helper may decode without a sandbox.
    let allowsUnsandboxed: Bool
    /// The message for a missing program.
    let missing: String

    /// The program at `path`. Default: beside the running program, else in `../libexec/avatars` from there.
    init(path: String?, allowsUnsandboxed: Bool) {
        self.allowsUnsandboxed = allowsUnsandboxed
        if let path {
            self.path = path
            missing = "The decoder \"\(path)\" is missing. Install avatars-decoder there."
            return
        }
        let folder = Self.folderOfThisProgram
        let places = ["\(folder)/\(Self.name)", "\(folder)/../libexec/avatars/\(Self.name)"]
        self.path = places.first { access($0, F_OK) == 0 } ?? places[0]
        missing =
            "The decoder is missing at \"\(places[0])\" and \"\(places[1])\". Install avatars-decoder at one of them."
    }

    /// The folder of the running program; `.` if it is not known.
    private static var folderOfThisProgram: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        #if canImport(Glibc)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { return "." }
        #else
        var size = UInt32(buffer.count)
        guard _NSGetExecutablePath(&buffer, &size) == 0 else { return "." }
        #endif
        let path = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}
