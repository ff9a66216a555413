import AvatarFoundation

/// Standard output and standard error.
///
/// They are written with `write(2)`, without a buffer in the process. So a line is out when the call returns, even if
/// the process is killed next, and a closed pipe is an error instead of the end of the process.
enum Console: Int32, Sendable {
    /// For data.
    case output = 1
    /// For messages, warnings and progress.
    case diagnostics = 2

    /// Whether the stream goes to a terminal.
    var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Whether a line can be redrawn: on a terminal other than `dumb`.
    var canRedraw: Bool { isTerminal && ProcessInfo.processInfo.environment["TERM"] != "dumb" }

    /// The width of the terminal in columns; 80 if it is not known.
    var columns: Int {
        var size = winsize()
        guard ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Whether to print colours: on a terminal other than `dumb`, unless `NO_COLOR` is set and not empty.
    var hasColour: Bool {
        let environment = ProcessInfo.processInfo.environment
        let isUnwanted = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return isTerminal && !isUnwanted && environment["TERM"] != "dumb"
    }

    /// Writes all of `text`.
    ///
    /// - Throws: `ClosedPipe` if the reader of the pipe is gone; `UnwritableOutput` for any other error, such as a full
    ///   disk.
    func write(_ text: TerminalText) throws {
        try write(text.bytes)
    }

    /// Writes all of `bytes`, which are no text for people: an image, JSON, a path for a script; errors as above.
    func write(_ bytes: [UInt8]) throws {
        try Self.write(bytes, to: rawValue, named: self == .output ? "standard output" : "standard error")
    }

    /// Checks that the pipe behind the stream, if it is one, is still read, for a command that writes rarely.
    ///
    /// - Throws: `ClosedPipe`.
    func requireReader() throws(ClosedPipe) {
        var state = pollfd(fd: rawValue, events: 0, revents: 0)
        if poll(&state, 1, 0) > 0, Int32(state.revents) & Int32(POLLERR) != 0 { throw ClosedPipe() }
    }

    /// Writes all of `bytes` to `descriptor`; errors as above.
    ///
    /// - Parameter name: the name of the file or stream in messages.
    static func write(_ bytes: [UInt8], to descriptor: Int32, named name: String) throws {
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: rest)
                let count = AvatarFoundation.write(descriptor, piece.baseAddress, piece.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else {
                    try recover(from: errno, descriptor, name)
                }
            }
        }
    }

    /// Returns if the write may be repeated after the error `number`, else throws.
    private static func recover(from number: Int32, _ descriptor: Int32, _ name: String) throws {
        switch number {
        case EINTR:
            return
        case EAGAIN:
            // Another process that shares the terminal or pipe made it non-blocking.
            var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&waiting, 1, -1)
        case EPIPE:
            throw ClosedPipe()
        default:
            throw UnwritableOutput(name: name, number: number)
        }
    }
}

/// The reader of a pipe is gone. The program ends quietly with exit code 0.
struct ClosedPipe: Error {}

/// A file or stream that cannot be written, for example because the disk is full.
struct UnwritableOutput: Error, CustomStringConvertible {
    /// The name of the file, in quotes, or of the stream.
    let name: String
    /// The value of `errno`.
    let number: Int32

    /// `Cannot write "ada.png": No space left on device.`
    var description: String { "Cannot write \(name): \(String(cString: strerror(number)))." }
}
