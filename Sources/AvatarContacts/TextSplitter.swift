internal import AvatarCore

/// Cuts a list of URLs into its lines. Whether a line is a URL is for the store to say.
struct TextSplitter: RecordSplitter {
    /// The longest line, without its line end.
    static let maximumLineBytes = 65_536

    private var lines: LineReader

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
            guard !line.isTooLong else {
                return .unreadable(line: line.number, reason: "the line is longer than 64 KiB")
            }
            return .url(String(decoding: line.bytes, as: UTF8.self))
        }
        return nil
    }
}
