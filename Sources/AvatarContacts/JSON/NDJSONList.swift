internal import AvatarCore

/// Cuts a list in newline-delimited JSON into its lines, one record per line.
///
/// A line that is not a JSON object is an unreadable record. A list in which no line is an object is not NDJSON.
struct NDJSONSplitter: RecordSplitter {
    private var lines: LineReader
    /// The most bytes of a record.
    private let limit: Int
    private let reading: JSONReading
    /// The number of the first line that is not blank; `nil` before it.
    private var firstLine: Int?
    /// Whether any line so far was an object. A list without one is in another format.
    private var hasObject = false

    /// Creates a splitter for the list at `cursor`, which must be at its beginning.
    init(cursor: ListCursor, limit: Int, columns: [ContactList.Column: [String]]) {
        self.limit = limit
        reading = JSONReading(columns: columns)
        lines = LineReader(cursor: cursor, limit: limit)
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        guard let line = try lines.next() else {
            try requireObject()
            return nil
        }
        firstLine = firstLine ?? line.number
        // Once one line is an object, parsing is left to the decoder: `validate()` need not parse the rest.
        if !hasObject { hasObject = reading.isObject(line.bytes) }
        if !line.isEnded { try requireWhole(line) }
        guard !line.isTooLong else { return .tooLarge(line: line.number, limit: limit) }
        return .whole(JSONRecord(json: line.bytes, line: line.number, reading: reading))
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
        let isWhole = isBeyondLimits ? line.lastVisible == .closingBrace : reading.isJSON(line.bytes)
        guard !isWhole else { return }
        throw lines.fault(
            "the list is cut short: the last line is incomplete JSON without a line feed",
            line: line.number
        )
    }
}
