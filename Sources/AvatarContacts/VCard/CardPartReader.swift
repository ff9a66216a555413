internal import AvatarCore

/// What a list of vCards is made of.
enum CardPart {
    case begin(CardLine)
    case end(line: Int)
    case property(CardProperty)
    /// A line that is nothing of these. Some programs do not fold the lines of a note.
    case noise(line: Int)
    /// A property whose name and parameters are longer than the limit.
    case endlessHead(line: Int)
}

/// Reads a list of vCards part by part: joins the lines of one property, by the rules of all versions at once.
///
/// - A line that begins with a blank goes on with the line before it.
/// - A line of quoted-printable text that ends in `=` goes on in the next line, whatever that begins with.
/// - Base64 goes on in lines that are base64 and nothing else, up to an empty line: some programs that write 2.1 do not
///   indent it. Where the line after such a line is folded, it is the name of a property, though.
///
/// Only `END:VCARD` and `BEGIN:VCARD` end a property in any case: one broken value must not swallow the cards behind it.
struct CardPartReader {
    private var lines: CardLineReader
    private let wanted: Set<PropertyHead.Kind>
    private let limit: Int
    /// How many bytes of lines were read.
    private(set) var bytesRead = 0

    /// Reads what lies behind `cursor`, and keeps the values of `wanted` properties, up to `limit` bytes of each.
    init(cursor: ListCursor, wanted: Set<PropertyHead.Kind>, limit: Int) {
        lines = CardLineReader(cursor: cursor, limit: limit)
        self.wanted = wanted
        self.limit = limit
    }

    /// The next part; `nil` after the last one.
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

    /// Makes the beginning of a card, the latest part, the next part again.
    mutating func putBack(_ begin: CardLine) {
        lines.putBack(begin)
    }

    /// The error that the list cannot be read because of `problem` in `line`, or in the line that was read last.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        lines.fault(problem, line: line)
    }

    private mutating func property(from first: CardLine) throws(AvatarStoreError) -> CardPart {
        var scanner = HeadScanner()
        scanner.take(first.bytes[...])
        while scanner.isOpen, let line = try takeLine(if: \.isFolded) { scanner.take(line.bytes.dropFirst()) }
        scanner.finish()
        guard !scanner.isTooLong else { return .endlessHead(line: first.number) }
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

    /// The next line if it goes on with a value that is written in `encoding` and whose latest line is `latest`.
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

    /// Whether the next line, `line`, is base64 and not the name of the next property, folded before its colon.
    private mutating func isUnfoldedBase64(_ line: CardLine) throws(AvatarStoreError) -> Bool {
        guard line.isBase64 else { return false }
        guard let following = try lines.peek(1) else { return true }
        return !following.isFolded || following.isBlank
    }

    private mutating func takeLine(
        if belongs: (CardLine) -> Bool = { _ in true }
    ) throws(AvatarStoreError) -> CardLine? {
        guard let line = try lines.peek(), belongs(line) else { return nil }
        bytesRead += line.bytes.count + (line.isTooLong ? limit : 1)
        return try lines.next()
    }
}

/// Reads a list of vCards line by line. A line ends with CR LF, LF or CR; some programs write CR CR LF.
private struct CardLineReader {
    private var cursor: ListCursor
    private let limit: Int
    /// How many lines were read.
    private var count = 0
    /// How many empty lines come next: carriage returns that were read already.
    private var emptyLines = 0
    /// Lines that were read already, the next one first.
    private var waiting: [CardLine] = []

    /// Reads what lies behind `cursor` and keeps up to `limit` bytes of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// The next line, or the one `distance` lines after it; all of them stay. `nil` if the list ends before.
    mutating func peek(_ distance: Int = 0) throws(AvatarStoreError) -> CardLine? {
        while waiting.count <= distance {
            guard let line = try read() else { return nil }
            waiting.append(line)
        }
        return waiting[distance]
    }

    /// The next line; `nil` after the last one.
    mutating func next() throws(AvatarStoreError) -> CardLine? {
        waiting.isEmpty ? try read() : waiting.removeFirst()
    }

    /// Makes `line`, the latest one, the next one again.
    mutating func putBack(_ line: CardLine) {
        waiting.insert(line, at: 0)
    }

    /// The error that the list cannot be read because of `problem` in `line`, or in the line that was read last.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        cursor.fault(problem, line: line ?? max(count, 1))
    }

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
        // Files that were joined have the mark of UTF-8 in their midst.
        let isMarked = held.bytes.starts(with: UTF8Check.mark)
        let bytes = isMarked ? Array(held.bytes.dropFirst(UTF8Check.mark.count)) : held.bytes
        return CardLine(number: count, bytes: bytes, isTooLong: held.isTooLong, isEnded: isEnded)
    }

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

/// One line of a list of vCards as it stands there, without its end.
struct CardLine {
    /// Counted from 1.
    let number: Int
    /// The line's bytes, or the first of them if the line is too long.
    fileprivate let bytes: [UInt8]
    /// Whether the line is longer than what is kept of a line.
    fileprivate let isTooLong: Bool
    /// Whether a line end ends the line, and not the end of the list.
    fileprivate let isEnded: Bool

    /// The beginning or the end of a card.
    fileprivate enum Boundary {
        case begin, end
    }

    /// Which end of a card the line is; `nil` for any other line.
    fileprivate var boundary: Boundary? {
        // Most lines are told apart by their first byte.
        switch bytes.first?.uppercased {
        case UInt8(ascii: "B") where isBoundary("BEGIN") || isCutBeginning: .begin
        case UInt8(ascii: "E") where isBoundary("END"): .end
        default: nil
        }
    }

    /// Whether the line goes on with the one before it, by the rule of all versions: it begins with a blank.
    fileprivate var isFolded: Bool {
        bytes.first == .space || bytes.first == .tab
    }

    /// Whether the line is base64 and nothing else, as no property is: a property has a colon.
    fileprivate var isBase64: Bool {
        !bytes.isEmpty && bytes.allSatisfy { Base64.uses($0) || $0.isBlank }
    }

    /// Whether nothing is in the line that anybody could miss. Programs of old end a file with control-Z.
    fileprivate var isBlank: Bool {
        bytes.allSatisfy { $0.isBlank || $0 == 0x1A || $0 == 0 }
    }

    /// Whether the line is `word:VCARD`, in letters of any case and with blanks behind each word.
    private func isBoundary(_ word: StaticString) -> Bool {
        guard bytes.count < 64, let colon = bytes.firstIndex(of: .colon) else { return false }
        return bytes[..<colon].trimmed.spells(word) && bytes[(colon + 1)...].trimmed.spells("VCARD")
    }

    /// Whether the list ends within the first line of a card.
    private var isCutBeginning: Bool {
        !isEnded && bytes.count < 11 && "BEGIN:VCARD".utf8.starts(with: bytes.map(\.uppercased))
    }
}
