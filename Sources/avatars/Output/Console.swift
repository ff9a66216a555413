import Foundation

/// Standard output or standard error.
///
/// Written with `write(2)`: a line is out when the call returns, whatever becomes of the process next, and a reader that
/// went away is an error like any other.
enum Console: Int32, Sendable {
    /// For data.
    case output = 1
    /// For messages, warnings and progress.
    case diagnostics = 2

    /// Whether a person reads along.
    var isTerminal: Bool { isatty(rawValue) == 1 }

    /// Whether a line can be drawn again.
    var canRedraw: Bool { isTerminal && ProcessInfo.processInfo.environment["TERM"] != "dumb" }

    /// How wide the terminal is; 80 if it does not say.
    var columns: Int {
        var size = winsize()
        guard ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Whether colours and cursor movements make sense.
    var hasColour: Bool {
        let environment = ProcessInfo.processInfo.environment
        let isUnwanted = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return isTerminal && !isUnwanted && environment["TERM"] != "dumb"
    }

    /// Writes all of `text`.
    ///
    /// - Throws: `ClosedPipe` if nobody reads it; `UnwritableOutput`.
    func write(_ text: String) throws {
        try write(Array(text.utf8))
    }

    /// Writes all of `bytes`; errors as above.
    func write(_ bytes: [UInt8]) throws {
        try Self.write(bytes, to: rawValue, named: self == .output ? "Standard output" : "Standard error")
    }

    /// Writes all of `bytes` to `descriptor`, which messages call `name`; errors as above.
    static func write(_ bytes: [UInt8], to descriptor: Int32, named name: String) throws {
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else {
                    try recover(from: errno, descriptor, name)
                }
            }
        }
    }

    private static func recover(from number: Int32, _ descriptor: Int32, _ name: String) throws {
        switch number {
        case EINTR:
            return
        case EAGAIN:
            // Somebody we share a terminal or pipe with made it non-blocking.
            var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&waiting, 1, -1)
        case EPIPE:
            throw ClosedPipe()
        default:
            throw UnwritableOutput(name: name, number: number)
        }
    }
}

/// The reader of a pipe went away: no fault, and nothing more to do.
struct ClosedPipe: Error {}

/// Output that cannot be written, on a full disk for example.
struct UnwritableOutput: Error, CustomStringConvertible {
    let name: String
    /// The value of `errno`.
    let number: Int32

    var description: String { "\(name) cannot be written (\(String(cString: strerror(number))))." }
}
