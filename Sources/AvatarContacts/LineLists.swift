internal import AvatarCore

/// Cuts a list of one JSON object a line into its lines.
struct NDJSONSplitter: RecordSplitter {
    private var lines: LineReader
    private let decoder = RecordDecoder()
    private var firstLine: Int?
    /// Whether a line was an object: without any, the list is something else.
    private var hasObject = false

    /// Cuts what lies behind `cursor`.
    init(cursor: ListCursor) {
        lines = LineReader(cursor: cursor, limit: RawRecord.maximumBytes)
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        guard let line = try lines.next() else {
            try requireObject()
            return nil
        }
        firstLine = firstLine ?? line.number
        // Later lines are parsed once only, by whoever wants the contact; here they need not be.
        if !hasObject { hasObject = decoder.isObject(line.bytes) }
        if !line.isEnded { try requireWhole(line) }
        guard !line.isTooLong else { return .tooLarge(line: line.number) }
        return .json(line.bytes, line: line.number)
    }

    private func requireObject() throws(AvatarStoreError) {
        guard let firstLine, !hasObject else { return }
        throw lines.fault(
            "this is not NDJSON: an object a line was expected, and no line is one (an array is the format json)",
            line: firstLine
        )
    }

    /// Tells a last line that was cut short from one whose writer left out the line feed.
    private func requireWhole(_ line: Line) throws(AvatarStoreError) {
        // What is beyond the limits cannot be parsed; its last byte has to do.
        let isBeyondLimits = line.isTooLong || JSONScanner.nestsTooDeep(line.bytes)
        let isWhole = isBeyondLimits ? line.lastVisible == .closingBrace : decoder.isJSON(line.bytes)
        guard !isWhole else { return }
        throw lines.fault(
            "the list is cut short: the last line is not whole JSON, and no line feed ends it",
            line: line.number
        )
    }
}

/// Cuts a list of URLs into its lines. Whether a line is a URL is for the store to say.
struct TextSplitter: RecordSplitter {
    /// The longest line, without its line end.
    private static let maximumLineBytes = 65_536

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

/// One line of a list, without its end.
private struct Line {
    /// Counted from 1.
    let number: Int
    /// The line's bytes without blanks around them, or the first of them if the line is too long.
    let bytes: ArraySlice<UInt8>
    /// Whether the line is longer than what is kept of a line.
    let isTooLong: Bool
    /// The last byte that is not blank, also of a line that is too long.
    let lastVisible: UInt8?
    /// Whether a line feed ends the line, and not the end of the list.
    let isEnded: Bool
}

/// Reads a list line by line; a line ends with LF or CR LF, the last one also with the list.
private struct LineReader {
    private var cursor: ListCursor
    private let limit: Int

    /// Reads what lies behind `cursor` and keeps up to `limit` bytes of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// The next line that is not blank; `nil` after the last one.
    mutating func next() throws(AvatarStoreError) -> Line? {
        while try cursor.peek() != nil {
            let number = cursor.line
            var held = HeldBytes(limit: limit)
            let isEnded = try cursor.pass(keeping: &held) { byte, _ in byte == .lineFeed }
            if isEnded { cursor.advance() }
            guard held.lastVisible != nil else { continue }
            return Line(
                number: number,
                bytes: held.bytes.trimmed,
                isTooLong: held.isTooLong,
                lastVisible: held.lastVisible,
                isEnded: isEnded
            )
        }
        return nil
    }

    /// The error that the list cannot be read because of `problem` in `line`.
    func fault(_ problem: String, line: Int) -> AvatarStoreError {
        cursor.fault(problem, line: line)
    }
}
