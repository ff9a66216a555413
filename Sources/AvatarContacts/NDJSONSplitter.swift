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
