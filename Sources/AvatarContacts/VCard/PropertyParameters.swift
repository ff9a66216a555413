/// The parameters of a property, as far as they matter for what its value is.
struct PropertyParameters {
    /// How the value's bytes are written.
    enum Encoding {
        case plain, quotedPrintable, base64
    }

    private(set) var encoding = Encoding.plain
    /// The charset that the value says it is in, as it is spelled.
    private(set) var charset: String?
    /// Whether the value is said to be the address of something (`VALUE=URI`, in old cards `VALUE=URL`).
    private(set) var isURI = false
    /// What `PREF=n` says, from 1 for the most preferred to 100.
    private var rank: Int?
    /// Whether `TYPE=pref` says that this is the preferred one, as up to version 3.0.
    private var isPreferred = false

    /// No parameters.
    init() {}

    /// Reads `text`, the parameters with semicolons between them.
    init(_ text: ArraySlice<UInt8>) {
        for parameter in text.split(outsideQuotes: .semicolon) { read(parameter) }
    }

    /// The order of preference among properties of one kind: the lower comes first.
    var order: Int {
        rank ?? (isPreferred ? 1 : Self.lastRank + 1)
    }

    private static let lastRank = 100

    private mutating func read(_ parameter: ArraySlice<UInt8>) {
        guard let equals = parameter.firstIndex(of: .equals) else { return readWord(parameter.trimmed.uppercasedWord) }
        let name = parameter[..<equals].trimmed.uppercasedWord
        let text = parameter[(equals + 1)...]
        // Old Macs write `BASE64=`.
        guard !text.trimmed.isEmpty else { return readWord(name) }
        switch name {
        case "ENCODING", "VALUE": for value in Self.values(of: text) { readWord(value.uppercased()) }
        case "TYPE": for value in Self.values(of: text) where value.uppercased() == "PREF" { isPreferred = true }
        case "PREF": rank = Self.values(of: text).first.flatMap { Int($0) }.flatMap { 1...100 ~= $0 ? $0 : nil }
        case "CHARSET": charset = Self.values(of: text).first
        default: break
        }
    }

    /// Takes a word that says by itself what it is, as 2.1 allows: `PHOTO;BASE64;JPEG`.
    private mutating func readWord(_ word: String) {
        switch word {
        case "QUOTED-PRINTABLE", "Q": encoding = .quotedPrintable
        case "BASE64", "B": encoding = .base64
        case "URI", "URL": isURI = true
        case "PREF": isPreferred = true
        default: break
        }
    }

    /// The values in `text`, which has commas between them, without quotes and in plain characters.
    private static func values(of text: ArraySlice<UInt8>) -> [String] {
        text.split(outsideQuotes: .comma).flatMap { value in
            let value = value.trimmed
            guard value.first == .quote else { return [plain(value)] }
            // Quotes may hold a list as well: TYPE="home,pref".
            let inner = value.dropFirst().prefix { $0 != .quote }
            return inner.split(separator: .comma).map { plain($0.trimmed) }
        }
    }

    /// `text` with the escapes of RFC 6868 resolved.
    private static func plain(_ text: ArraySlice<UInt8>) -> String {
        guard text.contains(UInt8(ascii: "^")) else { return String(decoding: text, as: UTF8.self) }
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            let escaped: UInt8? =
                switch (byte, rest.first) {
                case (UInt8(ascii: "^"), UInt8(ascii: "^")): UInt8(ascii: "^")
                case (UInt8(ascii: "^"), UInt8(ascii: "n")): .lineFeed
                case (UInt8(ascii: "^"), UInt8(ascii: "'")): .quote
                default: nil
                }
            if escaped != nil { rest = rest.dropFirst() }
            bytes.append(escaped ?? byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    /// The parts between the bytes that are `separator` and do not stand in quotes.
    fileprivate func split(outsideQuotes separator: UInt8) -> [ArraySlice<UInt8>] {
        var isInQuotes = false
        return split { byte in
            if byte == .quote { isInQuotes.toggle() }
            return byte == separator && !isInQuotes
        }
    }
}
