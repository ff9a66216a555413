internal import AvatarCore

/// A part of a list of vCards. Lines are counted from 1.
enum CardPart {
    /// The line `BEGIN:VCARD`.
    case begin(CardLine)
    /// The line `END:VCARD`.
    case end(line: Int)
    /// A property with all its lines joined.
    case property(CardProperty)
    /// A line that is not a property, such as a line of a note that its program did not fold.
    case noise(line: Int)
    /// A property whose name and parameters are over the limit.
    case overlongHead(line: Int)
}

/// Reads a list of vCards part by part, and joins the lines of each property.
///
/// The rules of all versions apply at once:
///
/// - A line that begins with a space or tab continues the line before it.
/// - A line of quoted-printable text that ends in `=` continues in the next line, whatever that begins with.
/// - Base64 continues in lines that are entirely base64, up to an empty line, because some programs that write 2.1 do not
///   indent it. Exception: if the line after such a line is folded, the line is the name of the next property.
///
/// `BEGIN:VCARD` and `END:VCARD` always end a property, so that one broken value cannot swallow the cards behind it.
struct CardPartReader {
    private var lines: CardLineReader
    private let wanted: Set<PropertyHead.Kind>
    private let limit: Int
    /// The number of bytes read so far, with one per line end. A line over the limit counts as more than the limit.
    private(set) var bytesRead = 0

    /// Creates a reader for the list at `cursor`.
    ///
    /// - Parameters:
    ///   - cursor: The beginning of the list.
    ///   - wanted: The properties whose values are kept; the values of all others are dropped.
    ///   - limit: The number of bytes to keep of a value, and of a line.
    init(cursor: ListCursor, wanted: Set<PropertyHead.Kind>, limit: Int) {
        lines = CardLineReader(cursor: cursor, limit: limit)
        self.wanted = wanted
        self.limit = limit
    }

    /// Returns the next part, or `nil` after the last one.
    mutating func next() throws(AvatarStoreError) -> CardPart? {
        while let line = try takeLine() {
            if line.isBlank { continue }
            switch line.boundary {
            case .begin?: return .begin(line)
            case .end?: return .end(line: line.number)
            case nil: return try property(from: line)
            }
        }
        return nil
    }

    /// Puts back the beginning of a card, which must be the latest part, so that `next()` returns it again.
    mutating func putBack(_ begin: CardLine) {
        lines.putBack(begin)
    }

    /// Makes the error that the list is unreadable because of `problem` in `line`; `nil` for the line read last.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        lines.fault(problem, line: line)
    }

    /// Reads the property that begins with the line `first`.
    private mutating func property(from first: CardLine) throws(AvatarStoreError) -> CardPart {
        var scanner = HeadScanner()
        scanner.take(first.bytes[...])
        while scanner.isOpen, let line = try takeLine(if: \.isFolded) { scanner.take(line.bytes.dropFirst()) }
        scanner.finish()
        guard !scanner.isTooLong else { return .overlongHead(line: first.number) }
        guard let beginning = scanner.value else { return .noise(line: first.number) }
        let head = PropertyHead(scanner.head)
        let isWanted = head.kind.map(wanted.contains) ?? false
        var value = HeldBytes(limit: isWanted ? limit : 0)
        value.append(beginning)
        var latest = beginning
        while let line = try takeLine(continuing: head.parameters.encoding, after: latest) {
            value.append([.lineFeed])
            value.append(line.bytes[...])
            latest = line.bytes[...]
        }
        return .property(CardProperty(line: first.number, head: head, value: value.bytes))
    }

    /// Takes the next line if it continues the value; otherwise returns `nil`.
    ///
    /// - Parameters:
    ///   - encoding: The encoding of the value.
    ///   - latest: The latest line of the value.
    private mutating func takeLine(
        continuing encoding: PropertyParameters.Encoding,
        after latest: ArraySlice<UInt8>
    ) throws(AvatarStoreError) -> CardLine? {
        guard let line = try lines.peek(), line.boundary == nil else { return nil }
        let belongs =
            switch encoding {
            case _ where line.isFolded: true
            case .plain: false
            case .quotedPrintable: QuotedPrintable.endsInSoftBreak(latest)
            case .base64: try isUnfoldedBase64(line)
            }
        return belongs ? try takeLine() : nil
    }

    /// Whether the next line, `line`, is base64 rather than the name of the next property, folded before its colon.
    private mutating func isUnfoldedBase64(_ line: CardLine) throws(AvatarStoreError) -> Bool {
        guard line.isBase64 else { return false }
        guard let following = try lines.peek(1) else { return true }
        return !following.isFolded || following.isBlank
    }

    /// Takes the next line if `belongs` accepts it, and counts its bytes; otherwise returns `nil`.
    private mutating func takeLine(
        if belongs: (CardLine) -> Bool = { _ in true }
    ) throws(AvatarStoreError) -> CardLine? {
        guard let line = try lines.peek(), belongs(line) else { return nil }
        bytesRead += line.bytes.count + (line.isTooLong ? limit : 1)
        return try lines.next()
    }
}

/// Reads a list of vCards line by line. A line ends with CR LF, LF or CR. Some programs write CR CR LF.
private struct CardLineReader {
    private var cursor: ListCursor
    private let limit: Int
    /// The number of lines read.
    private var count = 0
    /// The number of empty lines still to return, for carriage returns already read.
    private var emptyLines = 0
    /// Lines read ahead or put back, the next one first.
    private var waiting: [CardLine] = []

    /// Creates a reader for the list at `cursor`.
    ///
    /// - Parameters:
    ///   - cursor: The beginning of the list.
    ///   - limit: The number of bytes to keep of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// Returns the line `distance` lines after the next one, without moving past any; `nil` if the list ends before.
    mutating func peek(_ distance: Int = 0) throws(AvatarStoreError) -> CardLine? {
        while waiting.count <= distance {
            guard let line = try read() else { return nil }
            waiting.append(line)
        }
        return waiting[distance]
    }

    /// Returns the next line, or `nil` after the last one.
    mutating func next() throws(AvatarStoreError) -> CardLine? {
        waiting.isEmpty ? try read() : waiting.removeFirst()
    }

    /// Puts back `line`, which must be the latest one, so that `next()` returns it again.
    mutating func putBack(_ line: CardLine) {
        waiting.insert(line, at: 0)
    }

    /// Makes the error that the list is unreadable because of `problem` in `line`; `nil` for the line read last.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        cursor.fault(problem, line: line ?? max(count, 1))
    }

    /// Reads a line from the cursor.
    private mutating func read() throws(AvatarStoreError) -> CardLine? {
        if emptyLines > 0 {
            emptyLines -= 1
            count += 1
            return CardLine(number: count, bytes: [], isTooLong: false, isEnded: true)
        }
        guard try cursor.peek() != nil else { return nil }
        count += 1
        var held = HeldBytes(limit: limit)
        let isEnded = try cursor.pass(keeping: &held) { byte, _ in byte == .lineFeed || byte == .carriageReturn }
        if isEnded { try passLineEnd() }
        // A file joined from several ones has byte order marks in the middle.
        let isMarked = held.bytes.starts(with: UTF8Check.mark)
        let bytes = isMarked ? Array(held.bytes.dropFirst(UTF8Check.mark.count)) : held.bytes
        return CardLine(number: count, bytes: bytes, isTooLong: held.isTooLong, isEnded: isEnded)
    }

    /// Moves past a line end. Several carriage returns count as one line end only if a line feed follows them.
    private mutating func passLineEnd() throws(AvatarStoreError) {
        var returns = 0
        while try cursor.peek() == .carriageReturn {
            cursor.advance()
            returns += 1
        }
        if try cursor.peek() == .lineFeed {
            cursor.advance()
        } else {
            emptyLines = returns - 1
        }
    }
}

/// A line of a list of vCards without its line end, not yet unfolded.
struct CardLine {
    /// The number of the line, counted from 1.
    let number: Int
    /// The bytes of the line, or the first of them if it is too long.
    fileprivate let bytes: [UInt8]
    /// Whether the line is longer than the limit of its reader.
    fileprivate let isTooLong: Bool
    /// Whether the line has a line end; `false` for a last line without one.
    fileprivate let isEnded: Bool

    /// The first or the last line of a card.
    fileprivate enum Boundary {
        case begin, end
    }

    /// The boundary of a card that the line is; `nil` for any other line.
    fileprivate var boundary: Boundary? {
        // The first byte rules out most lines cheaply.
        switch bytes.first?.uppercased {
        case UInt8(ascii: "B") where isBoundary("BEGIN") || isCutBeginning: .begin
        case UInt8(ascii: "E") where isBoundary("END"): .end
        default: nil
        }
    }

    /// Whether the line begins with a space or tab, which continues the line before it in all versions.
    fileprivate var isFolded: Bool {
        bytes.first == .space || bytes.first == .tab
    }

    /// Whether the line is entirely base64. A property never is, because it has a colon.
    fileprivate var isBase64: Bool {
        !bytes.isEmpty && bytes.allSatisfy { Base64.uses($0) || $0.isBlank }
    }

    /// Whether the line is empty apart from white space, NUL and control-Z, with which some old programs end a file.
    fileprivate var isBlank: Bool {
        bytes.allSatisfy { $0.isBlank || $0 == 0x1A || $0 == 0 }
    }

    /// Whether the line is `word:VCARD`, ignoring case and white space around each word.
    private func isBoundary(_ word: StaticString) -> Bool {
        guard bytes.count < 64, let colon = bytes.firstIndex(of: .colon) else { return false }
        return bytes[..<colon].trimmed.spells(word) && bytes[(colon + 1)...].trimmed.spells("VCARD")
    }

    /// Whether the list ends within a line `BEGIN:VCARD`, which must be reported as cut short rather than skipped.
    private var isCutBeginning: Bool {
        !isEnded && bytes.count < 11 && "BEGIN:VCARD".utf8.starts(with: bytes.map(\.uppercased))
    }
}
