internal import AvatarCore

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
            return .whole(URLLine(url: String(decoding: line.bytes, as: UTF8.self), line: line.number))
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

/// A URL that fills a line, unchecked.
private struct URLLine: UndecodedRecord {
    let url: String
    let line: Int

    /// The contact has its URL as its id, because such a list has no ids.
    func contact(after earlier: inout EarlierRecords) -> ContactRecord {
        Contact(id: url, avatarURL: url).record(in: line)
    }
}
