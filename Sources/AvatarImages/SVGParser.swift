/// SVG: an XML document with the root element `svg`, complete if that element is closed.
struct SVGParser: ImageParser {
    private var scanner: XMLScanner

    init(_ reader: ByteReader) {
        scanner = XMLScanner(reader)
    }

    /// The root's `width` and `height` if both are plain numbers or pixels; a drawing with other units, or with a
    /// `viewBox` alone, states no pixels.
    mutating func pixelSize() throws -> PixelSize {
        guard try scanner.findRoot("svg") else { throw scanner.reader.notImage("its first element is another") }
        let tag = try scanner.takeTag()
        if !tag.suffix(2).elementsEqual("/>".utf8) { try scanner.skipContent() }
        let attributes = Self.attributes(of: tag)
        guard let width = attributes["width"].flatMap(Self.pixels),
            let height = attributes["height"].flatMap(Self.pixels)
        else { return .zero }
        return PixelSize(width: width, height: height)
    }

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

    private static func pixels(_ length: String) -> Int64? {
        var number = length.filter { !$0.isWhitespace }
        if number.hasSuffix("px") { number.removeLast(2) }
        guard let value = Double(number), value > 0, let pixels = Int64(exactly: value.rounded(.up)) else { return nil }
        return pixels
    }
}
