/// The members of a JSON object, above all those whose names are not spelled as in `ContactField`.
///
/// They are found by brackets and strings, in a fraction of the time that decoding takes. So a list in the usual spelling does
/// not pay for the tolerance.
enum JSONMembers {
    /// A member of an object.
    struct Member {
        /// The name between its quotes, at most `FieldName.maximumBytes` long and without escapes.
        let name: ArraySlice<UInt8>
        /// Whether the value is a string that begins with `http:` or `https:`.
        let isWebAddress: Bool
        /// Whether that address ends like the name of an image file.
        let isImageAddress: Bool
    }

    /// Returns the unusual members of the object in `json`, in their order; none for other values and malformed text.
    static func unusual(in json: ArraySlice<UInt8>) -> [Member] {
        members(of: json, where: isUnusual)
    }

    /// Returns the names of the object in `json`, in their order, without those that are too long or have escapes.
    static func names(in json: ArraySlice<UInt8>) -> [String] {
        members(of: json, where: isReadable).map { String(decoding: $0.name, as: UTF8.self) }
    }

    private static func members(
        of json: ArraySlice<UInt8>,
        where isWanted: (UnsafeBufferPointer<UInt8>) -> Bool
    ) -> [Member] {
        json.withUnsafeBufferPointer { bytes in
            var members: [Member] = []
            var depth = 0
            var isBeforeName = false
            var index = 0
            while index < bytes.count {
                switch bytes[index] {
                case .quote:
                    let start = index + 1
                    index = end(ofStringAt: start, in: bytes)
                    guard depth == 1, isBeforeName else { break }
                    isBeforeName = false
                    let name = UnsafeBufferPointer(rebasing: bytes[start..<index])
                    if isWanted(name) {
                        let value = value(behind: index + 1, in: bytes)
                        let place = json.startIndex + start
                        members.append(
                            Member(
                                name: json[place..<(place + name.count)],
                                isWebAddress: value != nil,
                                isImageAddress: value.map(FieldName.isImageAddress) ?? false
                            )
                        )
                    }
                case .openingBrace, .openingBracket:
                    depth += 1
                    isBeforeName = depth == 1 && bytes[index] == .openingBrace
                case .closingBrace, .closingBracket: depth -= 1
                case .comma: isBeforeName = depth == 1
                default: break
                }
                index += 1
            }
            return members
        }
    }

    /// The index of the quote behind a string; the end of the text if it has none.
    private static func end(ofStringAt start: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != .quote { index += bytes[index] == .backslash ? 2 : 1 }
        return min(index, bytes.count)
    }

    private static func isReadable(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        (1...FieldName.maximumBytes).contains(name.count) && !name.contains(.backslash)
    }

    private static func isUnusual(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        isReadable(name) && !usual.contains { $0.count == name.count && $0.elementsEqual(name) }
    }

    private static let usual = ContactField.allCases.map { Array($0.rawValue.utf8) }

    /// The web address in the string behind the colon at `start` or later, with its escapes; `nil` for another value.
    private static func value(behind start: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Slice<
        UnsafeBufferPointer<UInt8>
    >? {
        let value = bytes.dropFirst(start).drop { $0.isBlank || $0 == .colon }
        guard value.first == .quote, FieldName.isWebAddress(value.dropFirst()) else { return nil }
        let first = value.startIndex + 1
        return bytes[first..<end(ofStringAt: first, in: bytes)]
    }
}

/// The names under which the records of a list have fields in another spelling, such as `ID` and `avatar-url`.
struct FieldSpellings {
    /// The field of each name seen so far; `nil` for a name that is not read.
    private var fields: [String: ContactField?] = [:]

    /// The limit for the names that are remembered. Records whose names are data could have any number of them.
    private static let maximumCount = 1_000

    /// Returns the names of fields in `members`. Of several names of a field, the first one counts.
    mutating func names(in members: [JSONMembers.Member]) -> [ContactField: String] {
        var names: [ContactField: String] = [:]
        for member in members {
            let name = String(decoding: member.name, as: UTF8.self)
            if let field = field(name), names[field] == nil { names[field] = name }
        }
        return names
    }

    private mutating func field(_ name: String) -> ContactField? {
        if let known = fields[name] { return known }
        let field = ContactField.spelledPlainly[FieldName.plain(name)]
        if fields.count < Self.maximumCount { fields[name] = .some(field) }
        return field
    }
}
