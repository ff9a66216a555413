/// A scanner for the small XML documents of S3: elements, text and character references, and no document types.
///
/// The package has its own because Foundation's parser brings a large library along, and resolves entities.
struct XMLScanner {
    /// The document is malformed, or has a construct that no S3 document has.
    struct Malformed: Error {}

    private static let maximumDepth = 16

    private let bytes: [UInt8]
    private var place = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Calls `found` at the end of each element, with the names from the root to it and its own text.
    ///
    /// - Throws: `Malformed`.
    static func scan(_ bytes: [UInt8], _ found: (_ path: [String], _ text: String) throws(Malformed) -> Void)
        throws(Malformed)
    {
        var scanner = XMLScanner(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.place = 3 }
        var path: [String] = []
        var texts: [[UInt8]] = []
        var hasRoot = false
        while scanner.place < bytes.count {
            if bytes[scanner.place] != UInt8(ascii: "<") {
                let text = try scanner.text()
                if texts.isEmpty {
                    guard text.allSatisfy(\.isXMLSpace) else { throw Malformed() }
                } else {
                    texts[texts.count - 1] += text
                }
            } else if scanner.skip("<?") {
                try scanner.skip(past: "?>")
            } else if scanner.skip("<!--") {
                try scanner.skip(past: "-->")
            } else if scanner.skip("</") {
                let name = try scanner.name()
                scanner.skipSpace()
                guard scanner.skip(">"), name == path.last, let text = texts.popLast() else { throw Malformed() }
                try end(path, text, found)
                path.removeLast()
            } else {
                scanner.place += 1
                guard !path.isEmpty || !hasRoot, path.count < maximumDepth else { throw Malformed() }
                hasRoot = true
                path.append(try scanner.name())
                if try scanner.isEmptyElement() {
                    try end(path, [], found)
                    path.removeLast()
                } else {
                    texts.append([])
                }
            }
        }
        guard hasRoot, path.isEmpty else { throw Malformed() }
    }

    private static func end(
        _ path: [String],
        _ text: [UInt8],
        _ found: ([String], String) throws(Malformed) -> Void
    ) throws(Malformed) {
        guard let text = String(validating: text, as: UTF8.self) else { throw Malformed() }
        try found(path, text)
    }

    // MARK: Parts

    /// The bytes up to the next tag, with references resolved.
    private mutating func text() throws(Malformed) -> [UInt8] {
        var text: [UInt8] = []
        while place < bytes.count, bytes[place] != UInt8(ascii: "<") {
            if skip("&") {
                text += try reference()
            } else {
                text.append(bytes[place])
                place += 1
            }
        }
        return text
    }

    /// The bytes of a reference, after its `&`.
    private mutating func reference() throws(Malformed) -> [UInt8] {
        guard let end = bytes[place...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw Malformed() }
        let name = String(decoding: bytes[place..<end], as: UTF8.self)
        place = end + 1
        switch name {
        case "lt": return Array("<".utf8)
        case "gt": return Array(">".utf8)
        case "amp": return Array("&".utf8)
        case "quot": return Array("\"".utf8)
        case "apos": return Array("'".utf8)
        default: break
        }
        let number =
            name.hasPrefix("#x")
            ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
        guard let number, let character = Unicode.Scalar(number) else { throw Malformed() }
        return Array(String(Character(character)).utf8)
    }

    private mutating func name() throws(Malformed) -> String {
        let name = bytes[place...].prefix { $0.isWord || "-.:".utf8.contains($0) }
        guard !name.isEmpty else { throw Malformed() }
        place = name.endIndex
        return String(decoding: name, as: UTF8.self)
    }

    /// Skips the attributes of a start tag. Returns whether the tag ends its element, too.
    private mutating func isEmptyElement() throws(Malformed) -> Bool {
        while true {
            skipSpace()
            if skip("/>") { return true }
            if skip(">") { return false }
            _ = try name()
            skipSpace()
            guard skip("=") else { throw Malformed() }
            skipSpace()
            if skip("\"") { try skip(past: "\"") } else if skip("'") { try skip(past: "'") } else { throw Malformed() }
        }
    }

    // MARK: Skipping

    private mutating func skip(_ mark: StaticString) -> Bool {
        mark.withUTF8Buffer { mark in
            guard bytes[place...].starts(with: mark) else { return false }
            place += mark.count
            return true
        }
    }

    private mutating func skip(past mark: StaticString) throws(Malformed) {
        while place < bytes.count {
            if skip(mark) { return }
            place += 1
        }
        throw Malformed()
    }

    private mutating func skipSpace() {
        while place < bytes.count, bytes[place].isXMLSpace { place += 1 }
    }
}

extension UInt8 {
    /// Whether this is white space in XML.
    fileprivate var isXMLSpace: Bool { [0x20, 0x09, 0x0A, 0x0D].contains(self) }
}
