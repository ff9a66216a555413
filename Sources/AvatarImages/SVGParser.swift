/// SVG: an XML document with the root element `svg`. It is complete if that element is closed.
struct SVGParser: ImageParser {
    /// The scanner at its place in the document.
    private var scanner: XMLScanner
    /// Whether the drawing has comments, instructions, elements and attributes of editors, or images with metadata of their own.
    private(set) var hasMetadata = false

    /// Begins at the start of the document. The inspector has checked the root element already, with a scanner of its
    /// own.
    init(_ reader: ByteReader) {
        scanner = XMLScanner(reader)
    }

    /// The `width` and `height` of the root element if both are plain numbers or in `px`. Otherwise, for example with
    /// other units or only a `viewBox`, the size is zero.
    mutating func pixelSize() throws -> PixelSize {
        guard try scanner.findRoot("svg") else { throw scanner.reader.notImage("its root element is not svg") }
        let tag = try scanner.takeTag()
        if !tag.suffix(2).elementsEqual("/>".utf8) { try scanner.skipContent() }
        let attributes = Self.attributes(of: tag)
        hasMetadata = try scanner.hasRemarks || attributes.keys.contains(where: Self.isForeign) || !scanner.isAtEnd()
        guard let width = attributes["width"].flatMap(Self.pixels),
            let height = attributes["height"].flatMap(Self.pixels)
        else { return .zero }
        return PixelSize(width: width, height: height)
    }

    /// Whether an attribute is that of an editor, or declares the names of one.
    private static func isForeign(_ attribute: String) -> Bool {
        attribute.contains(":") && !["xmlns:svg", "xmlns:xlink", "xml:space", "xml:lang"].contains(attribute)
    }

    /// The attributes in the start tag `tag`, by name.
    private static func attributes(of tag: [UInt8]) -> [String: String] {
        var attributes: [String: String] = [:]
        var rest = tag[...]
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            let isSeparator = { (byte: UInt8) in byte <= UInt8(ascii: " ") }
            let name = rest[..<equals].split(whereSeparator: isSeparator).last ?? []
            let value = rest[(equals + 1)...].drop(while: isSeparator)
            guard let quote = value.first, "\"'".utf8.contains(quote), let end = value.dropFirst().firstIndex(of: quote)
            else { break }
            attributes[String(decoding: name, as: UTF8.self)] =
                String(decoding: value[(value.startIndex + 1)..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
        }
        return attributes
    }

    /// The pixels that the attribute value `length` states, rounded up; `nil` for other units and for 0 or less.
    private static func pixels(_ length: String) -> Int64? {
        var number = length.filter { !$0.isWhitespace }
        if number.hasSuffix("px") { number.removeLast(2) }
        guard let value = Double(number), value > 0, let pixels = Int64(exactly: value.rounded(.up)) else { return nil }
        return pixels
    }
}

/// Finds the root element of an XML document and its end, without parsing the rest.
///
/// It reads UTF-8 and other encodings that contain ASCII, but not UTF-16.
struct XMLScanner {
    /// The start of a document type declaration. It names the root element too.
    private static let documentType = "<!DOCTYPE"
    /// The white space of XML: tab, line feed, carriage return and space.
    private static let whitespace: Set<Int64> = [0x09, 0x0A, 0x0D, 0x20]
    /// The maximum length of the root's start tag in bytes. It bounds memory; real drawings stay far below.
    private static let longestTag: Int64 = 64 * 1024
    /// The maximum length of an element name in bytes; the rest of a longer one is ignored.
    private static let longestName = 256
    /// The bytes of an element name searched for a prefix.
    private static let longestPrefix: Int64 = 32

    /// The bytes of the document.
    private(set) var reader: ByteReader
    /// The position in the document.
    private var offset: Int64 = 0
    /// Whether a comment, an instruction other than the declaration at the start, an element about the document or one with an
    /// image was passed.
    private(set) var hasRemarks = false

    /// Begins at the start of the document.
    init(_ reader: ByteReader) {
        self.reader = reader
    }

    /// Moves to the root element and returns whether it is named `name`. A namespace prefix is ignored.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` if the document ends before its root element is known; any error
    ///   that the byte source throws.
    mutating func findRoot(_ name: String) throws -> Bool {
        if try startsHere("\u{FEFF}") { offset = 3 }
        while true {
            try skipWhitespace()
            guard try reader.uint8(at: offset) == UInt8(ascii: "<") else { return false }
            if try skipRemark() { continue }
            // A document type names the root too, so an HTML page is recognised before its first element.
            let isDocumentType = try startsHere(Self.documentType)
            if isDocumentType {
                offset += Int64(Self.documentType.utf8.count)
                try skipWhitespace()
            }
            let isRoot = try localName(at: isDocumentType ? offset : offset + 1) == Array(name.utf8)
            guard isDocumentType, isRoot else { return isRoot }
            try skipDocumentType()
        }
    }

    /// Reads the tag at the current position, including its angle brackets, and moves behind it.
    mutating func takeTag() throws -> [UInt8] {
        let start = offset
        try skipTag()
        guard offset - start <= Self.longestTag else {
            throw reader.notImage("its first tag is longer than \(Self.longestTag) bytes")
        }
        return try (start..<offset).map { UInt8(truncatingIfNeeded: try reader.uint8(at: $0)) }
    }

    /// Moves from behind the start tag of an element to behind its end tag. Only the depth counts; names may not match.
    mutating func skipContent() throws {
        var depth = 1
        while depth > 0 {
            guard let bracket = try reader.offset(of: UInt8(ascii: "<"), from: offset) else {
                throw reader.truncated("an element is not closed")
            }
            offset = bracket
            if try skipRemark() { continue }
            if try startsHere("</") {
                depth -= 1
            } else {
                depth += 1
                if !hasRemarks { hasRemarks = try isAboutTheDocument(at: bracket + 1) }
            }
            try skipTag()
            if try reader.has(Array("/>".utf8), at: offset - 2) { depth -= 1 }
        }
    }

    /// Elements about the document, and those that hold an image, which may have metadata of its own.
    private static let remarks = ["metadata", "image", "feImage", "foreignObject"].map { Array($0.utf8) }

    /// Whether the element whose name starts at `start` is one of `remarks`, or has the prefix of another vocabulary.
    private mutating func isAboutTheDocument(at start: Int64) throws -> Bool {
        var name = try reader.bytes(min(Self.longestPrefix, reader.byteCount - start), at: start)
            .prefix { !Self.whitespace.contains(Int64($0)) && !"/>".utf8.contains($0) }
        if name.starts(with: "svg:".utf8) { name = name.dropFirst(4) }
        return name.contains(UInt8(ascii: ":")) || Self.remarks.contains { name.elementsEqual($0) }
    }

    /// Whether only white space follows.
    mutating func isAtEnd() throws -> Bool {
        while offset < reader.byteCount {
            guard try Self.whitespace.contains(reader.uint8(at: offset)) else { return false }
            offset += 1
        }
        return true
    }

    // MARK: Moving

    /// Whether `text` starts at the current position. A file that ends inside a match counts as truncated.
    private mutating func startsHere(_ text: String) throws -> Bool {
        let available = Int(min(Int64(text.utf8.count), max(0, reader.byteCount - offset)))
        guard try reader.has(text.utf8.prefix(available), at: offset) else { return false }
        try reader.require(Int64(text.utf8.count), at: offset)
        return true
    }

    /// Moves to the next byte that is not white space (XML 1.0, 2.3).
    private mutating func skipWhitespace() throws {
        while Self.whitespace.contains(try reader.uint8(at: offset)) { offset += 1 }
    }

    /// Moves behind a comment, a processing instruction or a CDATA section. Returns false if none starts here.
    private mutating func skipRemark() throws -> Bool {
        for (start, end) in [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>")] where try startsHere(start) {
            let isDeclaration = start == "<?" && offset <= 3
            if start != "<![CDATA[", !isDeclaration { hasRemarks = true }
            offset += Int64(start.utf8.count)
            try skip(past: end)
            return true
        }
        return false
    }

    /// Moves behind the next `text`, which must end with its only `>`.
    private mutating func skip(past text: String) throws {
        let start = offset
        while true {
            try skip(past: UInt8(ascii: ">"))
            let textStart = offset - Int64(text.utf8.count)
            if try textStart >= start && reader.has(text.utf8, at: textStart) { return }
        }
    }

    /// Moves behind the next `byte`.
    private mutating func skip(past byte: UInt8) throws {
        guard let found = try reader.offset(of: byte, from: offset) else {
            throw reader.truncated("it ends inside a tag or comment")
        }
        offset = found + 1
    }

    /// Moves behind a tag. A `>` inside quotes does not end the tag.
    private mutating func skipTag() throws {
        while true {
            let byte = UInt8(truncatingIfNeeded: try reader.uint8(at: offset))
            offset += 1
            switch byte {
            case UInt8(ascii: ">"): return
            case UInt8(ascii: "\""), UInt8(ascii: "'"): try skip(past: byte)
            default: break
            }
        }
    }

    /// Moves behind a document type, which may contain declarations in square brackets.
    private mutating func skipDocumentType() throws {
        var isInside = false
        while true {
            let byte = UInt8(truncatingIfNeeded: try reader.uint8(at: offset))
            if try byte == UInt8(ascii: "<") && skipRemark() { continue }
            offset += 1
            switch byte {
            case UInt8(ascii: ">") where !isInside: return
            case UInt8(ascii: "["): isInside = true
            case UInt8(ascii: "]"): isInside = false
            case UInt8(ascii: "\""), UInt8(ascii: "'"): try skip(past: byte)
            default: break
            }
        }
    }

    /// The name at `start`, without its namespace prefix.
    private mutating func localName(at start: Int64) throws -> [UInt8] {
        var name: [UInt8] = []
        while name.count < Self.longestName {
            let byte = try reader.uint8(at: start + Int64(name.count))
            if Self.whitespace.contains(byte) || "/>[".utf8.contains(UInt8(truncatingIfNeeded: byte)) { break }
            name.append(UInt8(truncatingIfNeeded: byte))
        }
        return name.split(separator: UInt8(ascii: ":")).last.map(Array.init) ?? []
    }
}
