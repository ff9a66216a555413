internal import AvatarCore

/// Cuts a list of comma-separated values into its rows. The first row names the columns.
///
/// The separator is the one that occurs most in the first row: comma, semicolon or tab. A first line `sep=;`, which Excel
/// reads and writes, names it. Rows without any value are skipped, as spreadsheets write them.
///
/// A row with fewer fields than the first one has empty ones. If the list also ends in it without a line end, the list is cut
/// short. A row with more fields is an unreadable record.
struct CSVSplitter: RecordSplitter {
    private var cursor: ListCursor
    /// The most bytes of a row.
    private let limit: Int
    /// The columns that the caller names, by what they hold.
    private let named: [ContactList.Column: [String]]
    /// The columns of the list; `nil` before the first row.
    private var columns: CSVColumns?
    /// The separator that a line `sep=;` names.
    private var declared: UInt8?

    /// Creates a splitter for the list at `cursor`, which must be at its beginning.
    init(cursor: ListCursor, named: [ContactList.Column: [String]], limit: Int) {
        (self.cursor, self.limit) = (cursor, limit)
        self.named = named
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        let columns: CSVColumns
        if let known = self.columns {
            columns = known
        } else {
            columns = try header()
            self.columns = columns
        }
        guard let row = try row(separator: columns.separator) else { return nil }
        guard row.isEnded || row.fieldCount >= columns.count else {
            throw cursor.fault(
                "the list is cut short: the last row has \(row.fieldCount) of \(columns.count) fields and no line end",
                line: row.line
            )
        }
        if row.isTooLong { return .tooLarge(line: row.line, limit: limit) }
        guard row.fieldCount <= columns.count else {
            let reason =
                "the row has \(row.fieldCount) fields, but the header has \(columns.count); put quotes around a value "
                + "that contains the separator"
            return .unreadable(line: row.line, reason: reason)
        }
        guard !row.hasTextBehindQuote else {
            let reason = "text follows the closing quote of a field; write a quote within a quoted field twice"
            return .unreadable(line: row.line, reason: reason)
        }
        return .whole(CSVRow(bytes: row.bytes, columns: columns, line: row.line))
    }

    /// Reads the first row.
    ///
    /// - Throws: `unreadableList` if the row breaks a limit, or is missing. An empty file may be the rest of a damaged one, and
    ///   must not count as a list without contacts.
    private mutating func header() throws(AvatarStoreError) -> CSVColumns {
        while let row = try row(separator: declared) {
            guard !row.isTooLong, row.bytes.count <= CSVColumns.maximumHeaderBytes,
                row.fieldCount <= CSVColumns.maximumCount
            else {
                throw cursor.fault(
                    "the header row has more than the limit of \(CSVColumns.maximumCount) columns or "
                        + ByteSize.limit(CSVColumns.maximumHeaderBytes),
                    line: row.line
                )
            }
            if declared == nil, let separator = row.declaredSeparator {
                declared = separator
                continue
            }
            do throws(RecordFault) {
                return try CSVColumns(header: row.bytes, separator: declared ?? row.separator, named: named)
            } catch {
                throw cursor.fault(error.reason, line: row.line)
            }
        }
        throw cursor.fault("the list is empty; expected a first row that names the columns, such as id,name,photo")
    }

    /// Reads the next row that has a value.
    ///
    /// - Parameter separator: The separator; `nil` for a header, in which each of the known ones is one.
    private mutating func row(separator: UInt8?) throws(AvatarStoreError) -> Row? {
        while try cursor.peek() != nil {
            let row = try nextRow(separator)
            if !row.isBlank { return row }
        }
        return nil
    }

    private mutating func nextRow(_ separator: UInt8?) throws(AvatarStoreError) -> Row {
        let line = cursor.line
        var held = HeldBytes(limit: limit)
        var scanner = CSVScanner(separator: separator)
        var quoteLine = line
        var isRefused = false
        let isEnded = try cursor.pass(keeping: &held) { byte, line in
            switch scanner.step(byte) {
            case .keeps, .drops, .endsField: return false
            case .opensQuote: quoteLine = line
            case .refuses: isRefused = true
            case .endsRow: return true
            }
            return isRefused
        }
        guard !isRefused else {
            throw cursor.fault(
                scanner.isBehindReturn
                    ? "found a carriage return without a line feed; save the list with line feeds"
                    : "found a NUL character; a CSV list must be plain text"
            )
        }
        guard isEnded || !scanner.isInQuotes else {
            throw cursor.fault("the list is cut short: the quoted field that begins in line \(quoteLine) has no end")
        }
        if isEnded { cursor.advance() }
        return Row(line: line, held: held, scanner: scanner, isEnded: isEnded || scanner.isBehindReturn)
    }

    /// A row cut out of the list.
    private struct Row {
        let line: Int
        /// The row without its line feed, or the first bytes of it if it is too long.
        let bytes: [UInt8]
        let isTooLong: Bool
        let fieldCount: Int
        let hasTextBehindQuote: Bool
        /// Whether a line end follows.
        let isEnded: Bool

        init(line: Int, held: HeldBytes, scanner: CSVScanner, isEnded: Bool) {
            self.line = line
            bytes = held.bytes
            isTooLong = held.isTooLong
            fieldCount = scanner.fieldCount
            hasTextBehindQuote = scanner.hasTextBehindQuote
            self.isEnded = isEnded
        }

        /// Whether no field has a value.
        var isBlank: Bool {
            !isTooLong && bytes.allSatisfy { $0.isBlank || $0 == .quote || CSVScanner.separators.contains($0) }
        }

        /// The separator that the row names, if it is `sep=` and a separator.
        var declaredSeparator: UInt8? {
            let line = bytes.last == .carriageReturn ? bytes.dropLast() : bytes[...]
            guard let last = line.last, CSVScanner.separators.contains(last) else { return nil }
            return line.dropLast().spells("SEP=") ? last : nil
        }

        /// The separator that occurs most outside quotes; the comma if none does.
        var separator: UInt8 {
            var counts: [UInt8: Int] = [:]
            var scanner = CSVScanner(separator: nil)
            for byte in bytes where scanner.step(byte) == .endsField { counts[byte, default: 0] += 1 }
            return CSVScanner.separators.max { counts[$0, default: 0] < counts[$1, default: 0] } ?? .comma
        }
    }
}

/// Reads a list as UTF-8, or as UTF-16 if it begins with the byte order mark of that, as Excel's "Unicode Text" does.
///
/// Windows code pages are refused: a list does not say which one it is in, and a wrong guess spoils names.
struct CSVIntake: ListIntake {
    /// The intake for the encoding of the list; `nil` before the first chunk.
    private var intake: (any ListIntake)?

    var holdsPartOfCharacter: Bool { intake?.holdsPartOfCharacter ?? false }

    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8] {
        let isMarked = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        var intake = self.intake ?? (isMarked ? VCardIntake() : UTF8Intake())
        let text = try intake.text(of: bytes)
        self.intake = intake
        return text
    }
}
