/// Reads what a `data:` URI holds (RFC 2397).
enum DataURI {
    /// The bytes in `uri`, which begins with `data:`; none if it holds none.
    static func bytes(of uri: ArraySlice<UInt8>) throws(DecodingFault) -> [UInt8] {
        guard let comma = uri.firstIndex(of: .comma) else {
            throw DecodingFault(problem: "is a data: URI without data")
        }
        let data = try decodingPercent(uri[(comma + 1)...])
        // The word comes last; a blank around it is a mistake that is often made.
        guard let mark = uri[..<comma].lastIndex(of: .semicolon),
            uri[(mark + 1)..<comma].trimmed.spells("BASE64")
        else { return Array(data) }
        return try Base64.bytes(of: data)
    }

    private static func decodingPercent(_ text: ArraySlice<UInt8>) throws(DecodingFault) -> ArraySlice<UInt8> {
        guard text.contains(UInt8(ascii: "%")) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                throw DecodingFault(problem: "is a data: URI with a `%` that begins no byte")
            }
            bytes.append(high << 4 | low)
        }
        return bytes[...]
    }
}
