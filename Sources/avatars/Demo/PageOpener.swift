import CAvatarSystem
import AvatarFoundation

/// Opens a page in the browser of the person at the terminal.
struct PageOpener {
    /// Whether a person reads the output.
    let isTerminal: Bool
    /// The environment variables of the program.
    let environment: [String: String]

    #if os(macOS)
    private static let program = "open"
    /// macOS has a display whenever a person has a terminal, but not over SSH.
    private var hasDisplay: Bool { environment["SSH_CONNECTION"] == nil }
    #else
    private static let program = "xdg-open"
    /// Whether the session has a display of X11 or Wayland.
    private var hasDisplay: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0].map { !$0.isEmpty } ?? false }
    }
    #endif

    /// Starts the program that opens `path`, and does not wait for it: it may run as long as the browser.
    ///
    /// - Returns: whether it was started.
    func open(_ path: String) -> Bool {
        guard isTerminal, hasDisplay, let program = Self.find(Self.program, in: environment["PATH"] ?? "") else {
            return false
        }
        // Messages of a browser are of no use here. The path is printed even if nothing could be started.
        return avatar_start_apart(program, path) == 0
    }

    /// The path of the program `name` in one of the folders of `path`; `nil` if none has it.
    private static func find(_ name: String, in path: String) -> String? {
        path.split(separator: ":").map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
