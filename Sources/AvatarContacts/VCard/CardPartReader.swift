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
