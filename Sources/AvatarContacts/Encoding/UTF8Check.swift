/// Proves that chunks of bytes are UTF-8 (RFC 3629).
enum UTF8Check {
    /// What some programs put in front of UTF-8 text.
    static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// How many bytes at the end of `bytes` begin a character that needs more bytes than there are.
    static func cutCharacterCount(atEndOf bytes: [UInt8]) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0b1100_0000 != 0b1000_0000 {
            let needed =
                switch byte {
                case 0b1100_0000..<0b1110_0000: 2
                case 0b1110_0000..<0b1111_0000: 3
                case 0b1111_0000..<0b1111_1000: 4
                default: 1
                }
            return needed > index + 1 ? index + 1 : 0
        }
        return 0
    }

    /// The number of line feeds before the first byte that is not UTF-8; `nil` if all are.
    static func lineFeedsBeforeFault(in bytes: [UInt8]) -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var count = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) {
            if scalar.first == .lineFeed { count += 1 }
        }
        return count
    }
}
