extension TracedCall {
    /// Parses a line without the thread's number; `nil` for a line that shows no call.
    init?(line: ArraySlice<UInt8>) {
        var scanner = TraceScanner(rest: line)
        let name = scanner.take { $0 != UInt8(ascii: "(") }
        guard scanner.skip("("), !name.isEmpty else { return nil }
        var arguments: [Argument] = []
        while let argument = scanner.argument() {
            arguments.append(argument)
            if !scanner.skip(", ") { break }
        }
        _ = scanner.skip(")")
        _ = scanner.take { $0 == UInt8(ascii: " ") }
        if scanner.skip("= "), let value = scanner.argument() {
            result = Int(value.text.prefix { $0 != " " })
            resultPath = value.path
        } else {
            (result, resultPath) = (nil, nil)
        }
        self.name = String(decoding: name, as: UTF8.self)
        self.arguments = arguments
        self.line = String(decoding: line, as: UTF8.self)
        isInjected = self.line.hasSuffix("(INJECTED)")
    }
}

extension TracedCall.Argument {
    /// The bytes of a string, as far as it is shown: `\xNN`, up to three octal digits, or C's letters for some.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let first = rest.first else {
                bytes.append(byte)
                continue
            }
            let isHexadecimal = first == UInt8(ascii: "x")
            if isHexadecimal { rest = rest.dropFirst() }
            let digits = rest.prefix(isHexadecimal ? 2 : 3).prefix { isHexadecimal || (0x30...0x37).contains($0) }
            if let value = UInt8(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 8) {
                bytes.append(value)
                rest = rest.dropFirst(digits.count)
            } else {
                bytes.append(Self.letters[first] ?? first)
                rest = rest.dropFirst()
            }
        }
        return bytes
    }

    private static let letters: [UInt8: UInt8] = [
        UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "v"): 11, UInt8(ascii: "f"): 12,
        UInt8(ascii: "r"): 13,
    ]
}

/// Parses a line of a trace from left to right.
private struct TraceScanner {
    var rest: ArraySlice<UInt8>

    mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: condition)
        rest = rest.dropFirst(taken.count)
        return taken
    }

    mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    /// The text before the next comma or closing bracket of the same level; `nil` if it is empty.
    mutating func argument() -> TracedCall.Argument? {
        var argument = TracedCall.Argument(text: "", path: nil)
        var depth = 0
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""):
                let content = quoted()
                argument.text += content
                if depth == 0 { argument.path = content }
                continue
            case UInt8(ascii: "<") where depth == 0:
                argument.path = decoration()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ","), UInt8(ascii: ")"):
                if depth == 0 { return argument }
                if byte == UInt8(ascii: ")") { depth -= 1 }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            argument.text.unicodeScalars.append(Unicode.Scalar(byte))
            rest = rest.dropFirst()
        }
        return argument.text.isEmpty && argument.path == nil ? nil : argument
    }

    /// A string without its quotes, with its escapes as shown: the names that matter here have none.
    private mutating func quoted() -> String {
        rest = rest.dropFirst()
        var content: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            content.append(byte)
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() { content.append(escaped) }
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// The path in angle brackets behind a descriptor.
    private mutating func decoration() -> String {
        rest = rest.dropFirst()
        let path = take { $0 != UInt8(ascii: ">") }
        rest = rest.dropFirst()
        _ = skip("(deleted)")
        return String(decoding: path, as: UTF8.self)
    }
}
