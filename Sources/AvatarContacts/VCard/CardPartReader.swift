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
///   indent it.
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
        var isBroken = QuotedPrintable.endsInSoftBreak(beginning)
        while let line = try takeLine(if: { $0.continues(head.parameters.encoding, afterSoftBreak: isBroken) }) {
            value.append([.lineFeed])
            value.append(line.bytes[...])
            isBroken = QuotedPrintable.endsInSoftBreak(line.bytes)
        }
        return .property(CardProperty(line: first.number, head: head, value: value.bytes))
    }

    private mutating func takeLine(
        if belongs: (CardLine) -> Bool = { _ in true }
    ) throws(AvatarStoreError) -> CardLine? {
        guard let line = try lines.peek(), belongs(line) else { return nil }
        bytesRead += line.bytes.count + (line.isTooLong ? limit : 1)
        return try lines.next()
    }
}

extension CardLine {
    /// Whether the line goes on with a value that is written in `encoding`.
    fileprivate func continues(_ encoding: PropertyParameters.Encoding, afterSoftBreak isBroken: Bool) -> Bool {
        guard boundary == nil else { return false }
        return switch encoding {
        case _ where isFolded: true
        case .plain: false
        case .quotedPrintable: isBroken
        case .base64: isBase64
        }
    }
}
