/// Reads quoted-printable text (RFC 2045 section 6.7).
enum QuotedPrintable {
    /// The bytes that `text` stands for, a text without soft breaks. An `=` that begins no byte stands for itself: some
    /// programs encode only what is not ASCII.
    static func bytes(of text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == .equals, let high = rest.first?.hexadecimalValue,
                let low = rest.dropFirst().first?.hexadecimalValue
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// `text` with the lines joined that end in `=`. Blanks behind the `=` were added on the way here.
    static func joiningSoftBreaks(of text: [UInt8]) -> [UInt8] {
        let lines = text.split(separator: .lineFeed, omittingEmptySubsequences: false)
        var joined: [UInt8] = []
        joined.reserveCapacity(text.count)
        for (index, line) in lines.enumerated() {
            let isBroken = endsInSoftBreak(line)
            joined += isBroken ? line[..<(line.lastIndex(of: .equals) ?? line.endIndex)] : line
            if !isBroken && index < lines.count - 1 { joined.append(.lineFeed) }
        }
        return joined
    }

    /// Whether a line that ends like `line` goes on in the next one.
    static func endsInSoftBreak(_ line: some BidirectionalCollection<UInt8>) -> Bool {
        line.last { $0 != .space && $0 != .tab } == .equals
    }
}
