/// A property of a card with its lines joined, its value not yet decoded.
struct CardProperty {
    /// The line in which it begins, counted from 1.
    let line: Int
    /// The name and the parameters.
    let head: PropertyHead
    /// The value as the list spells it, with a line feed between its lines; empty if the property is not used.
    let value: [UInt8]

    /// The position of a card inside this one, which version 2.1 allows in `AGENT`. (In 3.0 it is text within the value.)
    enum InnerCard {
        /// The inner card may begin in the next line.
        case mayFollow
        /// The value is the first line of the inner card.
        case begins
    }

    /// The position of the inner card; `nil` if the property has no inner card.
    var innerCard: InnerCard? {
        guard head.kind == .agent else { return nil }
        let value = value.trimmed
        if value.isEmpty { return .mayFollow }
        return value.spells("BEGIN:VCARD") ? .begins : nil
    }

    /// Makes the fault of this property, with its name and line.
    ///
    /// - Parameter problem: The predicate of a sentence whose subject is the property, such as `is not base64`.
    func fault(_ problem: String) -> RecordFault {
        RecordFault(reason: "`\(head.kind?.rawValue ?? "")` in line \(line) \(problem)")
    }
}

/// The name and the parameters of a property, which precede its value: `group.NAME;parameter;parameter`.
struct PropertyHead {
    /// The properties that are used. The raw value is the name in vCards.
    ///
    /// Raw values are hashed into derived ids (`ContactIdentity`), so they never change.
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

    /// The kind of property; `nil` for one that is not used.
    let kind: Kind?
    /// The parameters, as far as they are used.
    let parameters: PropertyParameters

    /// The length of the longest name in `Kind`, in bytes. A longer name need not be looked up.
    private static let maximumNameBytes = 8

    /// Parses the text before the colon.
    init(_ text: ArraySlice<UInt8>) {
        let nameEnd = text.firstIndex(of: .semicolon) ?? text.endIndex
        var name = text[..<nameEnd]
        // A group (`item1.PHOTO`) ties properties together and does not change their meaning. Version 2.1 allows several.
        if let dot = name.lastIndex(of: UInt8(ascii: ".")) { name = name[(dot + 1)...] }
        name = name.trimmed
        kind =
            name.count > Self.maximumNameBytes
            ? nil : Kind(rawValue: String(decoding: name.map(\.uppercased), as: UTF8.self))
        parameters = nameEnd == text.endIndex ? PropertyParameters() : PropertyParameters(text[(nameEnd + 1)...])
    }
}

/// The parameters of a property that decide how its value is decoded and ordered.
///
/// The escapes of RFC 6868 are not resolved: they occur in free text only, and the parameters used here are single words.
struct PropertyParameters {
    /// The transfer encoding of a value.
    enum Encoding {
        case plain, quotedPrintable, base64
    }

    /// The transfer encoding of the value. Default: `plain`.
    private(set) var encoding = Encoding.plain
    /// The declared charset as the list spells it; `nil` without a declaration.
    private(set) var charset: String?
    /// The rank in `PREF=n`, from 1 for the most preferred to 100; `nil` if it is absent or out of range.
    private var rank: Int?
    /// Whether `TYPE=pref` marks the property as preferred, which is the way up to version 3.0.
    private var isPreferred = false

    /// Creates an empty set of parameters.
    init() {}

    /// Parses the parameters in `text`, separated by semicolons.
    init(_ text: ArraySlice<UInt8>) {
        var isInQuotes = false
        let parameters = text.split { byte in
            if byte == .quote { isInQuotes.toggle() }
            return byte == .semicolon && !isInQuotes
        }
        for parameter in parameters { read(parameter) }
    }

    /// The place in the order of preference among properties of one kind. The lowest comes first.
    var order: Int {
        rank ?? (isPreferred ? 1 : Self.lastRank + 1)
    }

    /// The greatest rank that `PREF` may have (RFC 6350 section 5.3).
    private static let lastRank = 100

    /// Parses one parameter: `NAME=value`, or a bare word.
    private mutating func read(_ parameter: ArraySlice<UInt8>) {
        guard let equals = parameter.firstIndex(of: .equals) else { return readWord(parameter.trimmed) }
        let name = parameter[..<equals].trimmed
        let text = parameter[(equals + 1)...].trimmed
        if text.isEmpty {
            // The address book of old Macs writes `BASE64=`.
            readWord(name)
        } else if name.spells("ENCODING") || name.spells("TYPE") {
            for word in text.split(whereSeparator: { $0 == .comma || $0 == .quote }) { readWord(word.trimmed) }
        } else if name.spells("PREF") {
            rank = Int(Self.value(of: text)).flatMap { 1...Self.lastRank ~= $0 ? $0 : nil }
        } else if name.spells("CHARSET") {
            charset = Self.value(of: text)
        }
    }

    /// Takes a value of `ENCODING` or `TYPE`, which version 2.1 allows without the name: `PHOTO;BASE64;JPEG`.
    private mutating func readWord(_ word: ArraySlice<UInt8>) {
        if word.spells("QUOTED-PRINTABLE") || word.spells("Q") {
            encoding = .quotedPrintable
        } else if word.spells("BASE64") || word.spells("B") {
            encoding = .base64
        } else if word.spells("PREF") {
            isPreferred = true
        }
    }

    /// The single value in `text`, without quotes.
    private static func value(of text: ArraySlice<UInt8>) -> String {
        let isQuoted = text.first == .quote
        return String(decoding: isQuoted ? text.dropFirst().prefix { $0 != .quote } : text, as: UTF8.self)
    }
}

/// Finds the colon between the head of a property and its value, over any number of folded lines.
///
/// The head is the name with the parameters. A colon in a quoted parameter does not end it.
struct HeadScanner {
    /// The limit for a head, in bytes: 64 KiB.
    static let maximumBytes = 65_536

    /// The head so far; complete once `value` is set.
    private(set) var head: ArraySlice<UInt8> = []
    /// The beginning of the value: the rest of the latest line; `nil` until the colon is found.
    private(set) var value: ArraySlice<UInt8>?
    private var isInQuotes = false

    /// Whether the head may continue in the next line, if that is folded.
    var isOpen: Bool { value == nil && !isTooLong }

    /// Whether the head is over the limit.
    var isTooLong: Bool { head.count > Self.maximumBytes }

    /// Takes the next line.
    ///
    /// - Parameter line: The line without the space or tab that folds it.
    mutating func take(_ line: ArraySlice<UInt8>) {
        let colon = line.firstIndex { byte in
            if byte == .quote { isInQuotes.toggle() }
            return byte == .colon && !isInQuotes
        }
        let part = line[..<(colon ?? line.endIndex)].prefix(Self.maximumBytes + 1)
        // Nearly all heads are a single line, which needs no copy.
        if head.isEmpty { head = part } else { head += part }
        value = colon.map { line[($0 + 1)...] }
    }

    /// Ends the head after its last line. A quote that is never closed then counts as an ordinary character.
    mutating func finish() {
        guard isOpen, let colon = head.firstIndex(of: .colon) else { return }
        value = head[(colon + 1)...]
        head = head[..<colon]
    }
}
