/// Text that is safe on a terminal.
///
/// Only literals of the source bring control characters in. Every other text, such as a contact's id or a path, loses its control
/// characters, line breaks and bidirectional controls as it is put in: it could otherwise break a line, hide a file's extension or
/// command the terminal. `Console` takes no `String`, so no text can be printed as it came.
struct TerminalText: Equatable, Sendable, ExpressibleByStringInterpolation {
    /// The text, safe as a whole.
    private(set) var safe: String

    /// The text of a literal as it is.
    init(stringLiteral literal: String) {
        safe = literal
    }

    /// The text of a literal, with values on one line each.
    init(stringInterpolation: StringInterpolation) {
        safe = stringInterpolation.safe
    }

    /// A text from outside, on one line.
    init(_ foreign: some StringProtocol) {
        safe = Self.oneLine(String(foreign))
    }

    /// Builds a text from the literals and values of an interpolation.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var safe = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            safe.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) {
            safe += literal
        }

        mutating func appendInterpolation(_ text: TerminalText) {
            safe += text.safe
        }

        mutating func appendInterpolation(_ value: some Any) {
            safe += TerminalText.oneLine("\(value)")
        }
    }

    /// The bytes to write.
    var bytes: [UInt8] { Array(safe.utf8) }
    /// Whether there is nothing to write.
    var isEmpty: Bool { safe.isEmpty }

    static func + (left: TerminalText, right: TerminalText) -> TerminalText { "\(left)\(right)" }

    static func += (left: inout TerminalText, right: TerminalText) { left.safe += right.safe }

    /// `text` with each unsafe character replaced by U+FFFD.
    static func oneLine(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isUnsafe($0) ? "\u{FFFD}" : $0 }))
    }

    /// Whether `scalar` ends a line, changes the direction of text or may begin a command to the terminal.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }
}

extension Sequence<TerminalText> {
    /// All texts, one after the other.
    func joined() -> TerminalText {
        reduce(into: "") { $0 += $1 }
    }
}
