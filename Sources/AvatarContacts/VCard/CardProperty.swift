/// A property of a card, cut out but not decoded.
struct CardProperty {
    /// The line in which it begins.
    let line: Int
    let head: PropertyHead
    /// The value as it stands in the list, with a line feed where a line ends; empty if nobody wants it.
    let value: [UInt8]

    /// Where a card inside this one is, which 2.1 allows for `AGENT`. (In 3.0 it is text within the value.)
    enum InnerCard {
        /// It may begin in the next line.
        case mayFollow
        /// It has begun: the value is its first line.
        case begins
    }

    /// Where the card is that this property holds; `nil` if it holds none.
    var innerCard: InnerCard? {
        guard head.kind == .agent else { return nil }
        let value = value.trimmed
        if value.isEmpty { return .mayFollow }
        return value.spells("BEGIN:VCARD") ? .begins : nil
    }

    /// The fault that the property has `problem`.
    func fault(_ problem: String) -> RecordFault {
        RecordFault(reason: "`\(head.kind?.rawValue ?? "")` in line \(line) \(problem)")
    }
}

/// What stands before the value of a property: `group.NAME;parameter;parameter`.
struct PropertyHead {
    /// The properties that matter here. Their spelling is the raw value.
    enum Kind: String {
        case version = "VERSION"
        case uid = "UID"
        case formattedName = "FN"
        case name = "N"
        case nickname = "NICKNAME"
        case organization = "ORG"
        case email = "EMAIL"
        case telephone = "TEL"
        case photo = "PHOTO"
        case logo = "LOGO"
        case agent = "AGENT"
    }

    /// Which property it is; `nil` for one that does not matter here.
    let kind: Kind?
    let parameters: PropertyParameters

    /// The most bytes of a name that matters.
    private static let maximumNameBytes = 8

    /// Reads what stands before the colon.
    init(_ text: ArraySlice<UInt8>) {
        let nameEnd = text.firstIndex(of: .semicolon) ?? text.endIndex
        var name = text[..<nameEnd]
        // Groups tie properties together (`item1.PHOTO`), in 2.1 also several; none of them changes what this one is.
        if let dot = name.lastIndex(of: UInt8(ascii: ".")) { name = name[(dot + 1)...] }
        name = name.trimmed
        kind =
            name.count > Self.maximumNameBytes
            ? nil : Kind(rawValue: String(decoding: name.map(\.uppercased), as: UTF8.self))
        parameters = nameEnd == text.endIndex ? PropertyParameters() : PropertyParameters(text[(nameEnd + 1)...])
    }
}

/// The parameters of a property, as far as they matter for what its value is.
///
/// Text in other parameters may have the escapes of RFC 6868, which exist so that a quote, a colon and a semicolon in
/// quotes are what they look like. The ones that matter are words, and have none.
struct PropertyParameters {
    /// How the value's bytes are written.
    enum Encoding {
        case plain, quotedPrintable, base64
    }

    private(set) var encoding = Encoding.plain
    /// The charset that the value says it is in, as it is spelled.
    private(set) var charset: String?
    /// What `PREF=n` says, from 1 for the most preferred to 100.
    private var rank: Int?
    /// Whether `TYPE=pref` says that this is the preferred one, as up to version 3.0.
    private var isPreferred = false

    /// No parameters.
    init() {}

    /// Reads `text`, the parameters with semicolons between them.
    init(_ text: ArraySlice<UInt8>) {
        var isInQuotes = false
        let parameters = text.split { byte in
            if byte == .quote { isInQuotes.toggle() }
            return byte == .semicolon && !isInQuotes
        }
        for parameter in parameters { read(parameter) }
    }

    /// The order of preference among properties of one kind: the lower comes first.
    var order: Int {
        rank ?? (isPreferred ? 1 : Self.lastRank + 1)
    }

    private static let lastRank = 100

    private mutating func read(_ parameter: ArraySlice<UInt8>) {
        guard let equals = parameter.firstIndex(of: .equals) else { return readWord(parameter.trimmed) }
        let name = parameter[..<equals].trimmed
        let text = parameter[(equals + 1)...].trimmed
        if text.isEmpty {
            // Old Macs write `BASE64=`.
            readWord(name)
        } else if name.spells("ENCODING") || name.spells("TYPE") {
            for word in text.split(whereSeparator: { $0 == .comma || $0 == .quote }) { readWord(word.trimmed) }
        } else if name.spells("PREF") {
            rank = Int(Self.value(of: text)).flatMap { 1...Self.lastRank ~= $0 ? $0 : nil }
        } else if name.spells("CHARSET") {
            charset = Self.value(of: text)
        }
    }

    /// Takes a word that says by itself what it is, as 2.1 allows: `PHOTO;BASE64;JPEG`.
    private mutating func readWord(_ word: ArraySlice<UInt8>) {
        if word.spells("QUOTED-PRINTABLE") || word.spells("Q") {
            encoding = .quotedPrintable
        } else if word.spells("BASE64") || word.spells("B") {
            encoding = .base64
        } else if word.spells("PREF") {
            isPreferred = true
        }
    }

    /// The one value that `text` is, without quotes.
    private static func value(of text: ArraySlice<UInt8>) -> String {
        let isQuoted = text.first == .quote
        return String(decoding: isQuoted ? text.dropFirst().prefix { $0 != .quote } : text, as: UTF8.self)
    }
}

/// Finds where a property's name and parameters end and its value begins, however many lines they are folded over.
struct HeadScanner {
    /// The most bytes of a name with its parameters.
    static let maximumBytes = 65_536

    /// What was taken of the name and parameters; all of it once the value has begun.
    private(set) var head: ArraySlice<UInt8> = []
    /// The beginning of the value: the rest of the line that was taken last; `nil` as long as no colon was met.
    private(set) var value: ArraySlice<UInt8>?
    private var isInQuotes = false

    /// Whether the next line belongs to the head too, if it is folded.
    var isOpen: Bool { value == nil && !isTooLong }

    /// Whether there is more than a head may have.
    var isTooLong: Bool { head.count > Self.maximumBytes }

    /// Takes the next line, without the blank that folds it.
    mutating func take(_ line: ArraySlice<UInt8>) {
        let colon = line.firstIndex { byte in
            if byte == .quote { isInQuotes.toggle() }
            return byte == .colon && !isInQuotes
        }
        let part = line[..<(colon ?? line.endIndex)].prefix(Self.maximumBytes + 1)
        // Nearly all heads are one line, of which no copy is needed.
        if head.isEmpty { head = part } else { head += part }
        value = colon.map { line[($0 + 1)...] }
    }

    /// Says that no line follows. If a quote was opened and never closed, it is a character like any other.
    mutating func finish() {
        guard isOpen, let colon = head.firstIndex(of: .colon) else { return }
        value = head[(colon + 1)...]
        head = head[..<colon]
    }
}
