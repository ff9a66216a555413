import AvatarFoundation
package import HTTPTypes

/// Makes header fields of the bytes of a response head, whose lines are `name:value`.
///
/// Responses of one host have most lines in common, so fields are kept and used again for the same bytes.
package struct ResponseFields {
    private struct Known {
        let bytes: [UInt8]
        /// The field; `nil` for a line that holds no valid field.
        let field: HTTPField?

        func has(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
            guard bytes.count == line.count, let start = line.baseAddress else { return false }
            return bytes.withUnsafeBytes { known in
                known.baseAddress.map { memcmp($0, start, line.count) == 0 } ?? false
            }
        }
    }

    /// The number of lines that are kept.
    private static let knownCount = 128
    /// The number of fields that most responses have at most.
    private static let usualCount = 12
    /// The maximum length of a line that is kept, in bytes.
    private static let longestKnown = 200

    private var known: [Known?] = Array(repeating: nil, count: knownCount)

    /// No fields.
    package init() {}

    /// The fields in `head`, and the first Location.
    package mutating func read(_ head: UnsafeBufferPointer<UInt8>) -> (fields: HTTPFields, location: String?) {
        var fields = HTTPFields()
        fields.reserveCapacity(Self.usualCount)
        var location: String?
        var rest = head[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            if let field = field(UnsafeBufferPointer(rebasing: rest[..<end])) {
                fields.append(field)
                if location == nil, field.name == .location { location = field.value }
            }
            rest = rest[(end + 1)...]
        }
        return (fields, location)
    }

    private mutating func field(_ line: UnsafeBufferPointer<UInt8>) -> HTTPField? {
        guard line.count <= Self.longestKnown else { return Self.parse(line) }
        // FNV-1a
        var hash: UInt32 = 2_166_136_261
        for byte in line { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let place = Int(hash % UInt32(Self.knownCount))
        if let known = known[place], known.has(line) { return known.field }
        let field = Self.parse(line)
        known[place] = Known(bytes: Array(line), field: field)
        return field
    }

    /// The field of a line; `nil` for a name or value that HTTP does not allow.
    private static func parse(_ line: UnsafeBufferPointer<UInt8>) -> HTTPField? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
        guard let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self)), HTTPField.isValidValue(value)
        else { return nil }
        // Bytes that are not UTF-8 are lost by now, so such a tag could not be sent back verbatim.
        if name == .eTag, value.unicodeScalars.contains("\u{FFFD}") { return nil }
        return HTTPField(name: name, value: value)
    }
}
