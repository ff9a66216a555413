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
