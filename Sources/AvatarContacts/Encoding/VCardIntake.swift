/// Takes a list of vCards. Each value of a card may say what charset it is in, so that the bytes stay as they are, with
/// one exception: a list that is UTF-16 as a whole, as the address book of old Macs wrote it, becomes UTF-8.
struct VCardIntake: ListIntake {
    private var form = Form.unknown
    /// The beginning of a UTF-16 character that the end of a chunk cut in two.
    private var kept: [UInt8] = []

    private enum Form {
        case unknown, bytes
        case utf16(isBigEndian: Bool)
    }

    var holdsPartOfCharacter: Bool {
        if case .utf16 = form { !kept.isEmpty } else { false }
    }

    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8] {
        if case .bytes = form { return Array(bytes) }
        var bytes = kept + bytes
        kept = []
        if case .unknown = form { form = try Self.form(of: &bytes) }
        guard case .utf16(let isBigEndian) = form else { return bytes }
        let (text, rest) = try UTF16Text.utf8(of: bytes, isBigEndian: isBigEndian)
        kept = rest
        return text
    }

    /// How a list that begins with `bytes` is written. Drops the mark that says so.
    private static func form(of bytes: inout [UInt8]) throws(ListIntakeFault) -> Form {
        let mark = bytes.prefix(4)
        guard !mark.elementsEqual([0xFF, 0xFE, 0, 0]), !mark.elementsEqual([0, 0, 0xFE, 0xFF]) else {
            throw ListIntakeFault(problem: "the list is UTF-32; UTF-8 or UTF-16 was expected")
        }
        if let isBigEndian = UTF16Text.dropMark(of: &bytes) { return .utf16(isBigEndian: isBigEndian) }
        switch (bytes.first, bytes.dropFirst().first) {
        case (0, let second?) where second != 0: return .utf16(isBigEndian: true)
        case (let first?, 0) where first != 0: return .utf16(isBigEndian: false)
        default: return .bytes
        }
    }
}
