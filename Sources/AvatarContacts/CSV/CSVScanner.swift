/// Finds the fields and the end of a row of comma-separated values (RFC 4180), byte by byte.
///
/// A field that begins with a quotation mark ends with the next one; two of them stand for one. Line breaks and separators
/// belong to such a field. A quotation mark within any other field is a character like others. Spaces around a quoted field
/// are ignored.
///
/// The splitter and the decoder of a row both use it, so they agree on the fields.
///
/// SwiftCSV is not used: it loads the whole text and keeps all rows.
struct CSVScanner {
    /// The meaning of a byte.
    enum Step {
        /// The byte belongs to the value of the field.
        case keeps
        /// The byte belongs to the syntax of the field.
        case drops
        /// The byte is the quotation mark that begins a quoted field.
        case opensQuote
        /// The byte is a separator: another field follows.
        case endsField
        /// The byte is the line feed behind the row.
        case endsRow
        /// The byte is not allowed here: a NUL character, or a byte behind a carriage return.
        case refuses
    }

    private enum Place {
        case beforeField, inText, inQuotes
        /// Behind a quotation mark in a quoted field: it ends the field, unless another one follows.
        case behindQuote
        /// Behind a quoted field and white space.
        case behindField
        case behindReturn
    }

    /// The separators that are detected.
    static let separators: [UInt8] = [.comma, .semicolon, .tab]

    /// The separator; `nil` to take all of `separators` for one.
    private let separator: UInt8?
    private var place = Place.beforeField
    /// The number of fields so far.
    private(set) var fieldCount = 1
    /// Whether text follows a closing quotation mark, which is a fault of the row.
    private(set) var hasTextBehindQuote = false

    /// Creates a scanner at the beginning of a row.
    init(separator: UInt8?) {
        self.separator = separator
    }

    /// Whether a quoted field is open.
    var isInQuotes: Bool { place == .inQuotes }
    /// Whether the last byte was a carriage return outside quotes.
    var isBehindReturn: Bool { place == .behindReturn }

    /// Scans the next byte of the row.
    mutating func step(_ byte: UInt8) -> Step {
        switch place {
        case .inQuotes:
            guard byte == .quote else { return byte == 0 ? .refuses : .keeps }
            place = .behindQuote
            return .drops
        case .behindQuote where byte == .quote:
            place = .inQuotes
            return .keeps
        case .behindReturn:
            // Some programs write two carriage returns.
            return byte == .lineFeed ? .endsRow : byte == .carriageReturn ? .drops : .refuses
        case .beforeField, .inText, .behindQuote, .behindField:
            return stepOutsideQuotes(byte)
        }
    }

    private mutating func stepOutsideQuotes(_ byte: UInt8) -> Step {
        if isSeparator(byte) {
            fieldCount += 1
            place = .beforeField
            return .endsField
        }
        switch byte {
        case .lineFeed: return .endsRow
        case .carriageReturn: place = .behindReturn
        case 0: return .refuses
        case .quote where place == .beforeField:
            place = .inQuotes
            return .opensQuote
        case .space where place == .beforeField: break
        case .space where place == .behindQuote || place == .behindField: place = .behindField
        default:
            if place == .behindQuote || place == .behindField { hasTextBehindQuote = true }
            place = .inText
            return .keeps
        }
        return .drops
    }

    private func isSeparator(_ byte: UInt8) -> Bool {
        guard let separator else { return Self.separators.contains(byte) }
        return byte == separator
    }
}

/// The fields of a row.
struct CSVFields {
    /// The values, one after the other.
    private var bytes: [UInt8] = []
    /// The end of each value in `bytes`.
    private var ends: [Int] = []

    /// Cuts a row into its fields.
    ///
    /// - Parameters:
    ///   - row: The row without its line feed.
    ///   - separator: The separator.
    init(of row: [UInt8], separator: UInt8) {
        var scanner = CSVScanner(separator: separator)
        bytes.reserveCapacity(row.count)
        for byte in row {
            switch scanner.step(byte) {
            case .keeps: bytes.append(byte)
            case .endsField: ends.append(bytes.count)
            case .drops, .opensQuote, .endsRow, .refuses: break
            }
        }
        ends.append(bytes.count)
    }

    /// The number of fields.
    var count: Int { ends.count }

    /// The value of a field without white space at either end; empty behind the last field.
    subscript(index: Int) -> ArraySlice<UInt8> {
        guard index < ends.count else { return [] }
        return bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]].trimmed
    }

    /// The value of a field as text.
    func text(_ index: Int) -> String {
        String(decoding: self[index], as: UTF8.self)
    }
}
