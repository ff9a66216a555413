internal import AvatarCore

/// Cuts a list in newline-delimited JSON into its lines, one record per line.
///
/// A line that is not a JSON object is an unreadable record. A list in which no line is an object is not NDJSON.
struct NDJSONSplitter: RecordSplitter {
    private var lines: LineReader
    /// The most bytes of a record.
    private let limit: Int
    /// Tells whether a line is JSON; it decodes no records here.
    private let decoder = RecordDecoder()
    /// The number of the first line that is not blank; `nil` before it.
    private var firstLine: Int?
    /// Whether any line so far was an object. A list without one is in another format.
    private var hasObject = false

    /// Creates a splitter for the list at `cursor`, which must be at its beginning.
    init(cursor: ListCursor, limit: Int) {
        self.limit = limit
        lines = LineReader(cursor: cursor, limit: limit)
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        guard let line = try lines.next() else {
            try requireObject()
            return nil
        }
        firstLine = firstLine ?? line.number
        // Once one line is an object, parsing is left to the decoder: `validate()` need not parse the rest.
        if !hasObject { hasObject = decoder.isObject(line.bytes) }
        if !line.isEnded { try requireWhole(line) }
        guard !line.isTooLong else { return .tooLarge(line: line.number, limit: limit) }
        return .json(line.bytes, line: line.number)
    }

    /// Rejects a list that has lines, none of which is an object.
    private func requireObject() throws(AvatarStoreError) {
        guard let firstLine, !hasObject else { return }
        throw lines.fault(
            "this is not NDJSON: no line is a JSON object (for an array, use the format json)",
            line: firstLine
        )
    }

    /// Rejects a last line that was cut short. One that lacks only its line feed is accepted.
    private func requireWhole(_ line: Line) throws(AvatarStoreError) {
        // A line over the limits is not parsed, so its last byte decides.
        let isBeyondLimits = line.isTooLong || JSONScanner.nestsTooDeep(line.bytes)
        let isWhole = isBeyondLimits ? line.lastVisible == .closingBrace : decoder.isJSON(line.bytes)
        guard !isWhole else { return }
        throw lines.fault(
            "the list is cut short: the last line is incomplete JSON without a line feed",
            line: line.number
        )
    }
}

/// Cuts a list of URLs into its lines, one URL per line.
///
/// The lines are not checked: the store decides whether one is a URL, and reports it as a failure if it is not.
struct TextSplitter: RecordSplitter {
    /// The limit for a line without its line end, in bytes: 64 KiB.
    private static let maximumLineBytes = 65_536

    private var lines: LineReader
    /// Whether a line other than a comment has been read.
    private var hasBegun = false

    /// Creates a splitter for the list at `cursor`, which must be at its beginning.
    init(cursor: ListCursor) {
        lines = LineReader(cursor: cursor, limit: Self.maximumLineBytes)
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        while let line = try lines.next() {
            if let control = line.bytes.first(where: \.isControl) {
                throw lines.fault(
                    "found \(control.spelling), a control character; a list of URLs must be plain text",
                    line: line.number
                )
            }
            guard line.bytes.first != UInt8(ascii: "#") else { continue }
            if !hasBegun { try requireNoOtherFormat(line) }
            hasBegun = true
            guard !line.isTooLong else {
                let limit = ByteSize.limit(Self.maximumLineBytes)
                return .unreadable(line: line.number, reason: "the line is longer than the limit of \(limit)")
            }
            return .url(String(decoding: line.bytes, as: UTF8.self), line: line.number)
        }
        return nil
    }

    /// Rejects a list whose first line begins like another format.
    ///
    /// A server may return an error page instead of the list. Read as URLs it would be a list without the known contacts,
    /// which a sync that prunes would unlink.
    private func requireNoOtherFormat(_ line: Line) throws(AvatarStoreError) {
        let format =
            switch line.bytes.first {
            case UInt8(ascii: "<") where !line.bytes.dropFirst().prefix(4).spells("HTTP"): "HTML or XML"
            case .openingBrace, .openingBracket: "JSON (format json or ndjson)"
            case UInt8(ascii: "B"), UInt8(ascii: "b"): line.bytes.spells("BEGIN:VCARD") ? "a vCard (format vcard)" : ""
            default: ""
            }
        guard format.isEmpty else {
            throw lines.fault("this is not a list of URLs: it begins like \(format)", line: line.number)
        }
    }
}

/// A line of a list, without its line end and the white space around it.
private struct Line {
    /// The number of the line, counted from 1.
    let number: Int
    /// The bytes of the line, or the first of them if it is too long.
    let bytes: ArraySlice<UInt8>
    /// Whether the line is longer than the limit of its reader.
    let isTooLong: Bool
    /// The last byte that is not white space, even if the line is too long.
    let lastVisible: UInt8?
    /// Whether a line feed ends the line; `false` for a last line without one.
    let isEnded: Bool
}

/// Reads a list line by line. A line ends with LF or CR LF, and the last line may end with the list.
private struct LineReader {
    private var cursor: ListCursor
    private let limit: Int

    /// Creates a reader for the list at `cursor`.
    ///
    /// - Parameters:
    ///   - cursor: The beginning of the list.
    ///   - limit: The number of bytes to keep of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// Returns the next line that is not blank, or `nil` after the last one.
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

    /// Makes the error that the list is unreadable because of `problem` in `line`.
    func fault(_ problem: String, line: Int) -> AvatarStoreError {
        cursor.fault(problem, line: line)
    }
}
