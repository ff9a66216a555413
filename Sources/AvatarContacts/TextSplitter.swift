internal import AvatarCore

/// Cuts a list of URLs into its lines. Whether a line is a URL is for the store to say.
struct TextSplitter: RecordSplitter {
    /// The longest line, without its line end.
    static let maximumLineBytes = 65_536

    private var lines: LineReader
    private var hasBegun = false

    /// Cuts what lies behind `cursor`.
    init(cursor: ListCursor) {
        lines = LineReader(cursor: cursor, limit: Self.maximumLineBytes)
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        while let line = try lines.next() {
            guard !line.bytes.contains(where: \.isControl) else {
                throw lines.fault("there are control characters; a list of URLs is plain text", line: line.number)
            }
            guard line.bytes.first != UInt8(ascii: "#") else { continue }
            if !hasBegun { try requireNoOtherFormat(line) }
            hasBegun = true
            guard !line.isTooLong else {
                let limit = ByteSize.text(Self.maximumLineBytes)
                return .unreadable(line: line.number, reason: "the line is longer than \(limit)")
            }
            return .url(String(decoding: line.bytes, as: UTF8.self), line: line.number)
        }
        return nil
    }

    /// Refuses what begins as no URL does, and as other formats do: a page that a server gave instead of the list names
    /// nobody, and must not be taken for a list of other people.
    private func requireNoOtherFormat(_ line: Line) throws(AvatarStoreError) {
        let format =
            switch line.bytes.first {
            case UInt8(ascii: "<") where !line.bytes.dropFirst().prefix(4).spells("HTTP"): "HTML or XML"
            case .openingBrace, .openingBracket: "JSON"
            case UInt8(ascii: "B"), UInt8(ascii: "b"): line.bytes.spells("BEGIN:VCARD") ? "a vCard" : ""
            default: ""
            }
        guard format.isEmpty else {
            throw lines.fault("this is no list of URLs: it begins like \(format)", line: line.number)
        }
    }
}
