/// Reads base64 (RFC 4648 section 4) as lists hold it: broken into lines anywhere, with or without padding.
enum Base64 {
    /// Whether `byte` can stand in base64, padding included.
    static func uses(_ byte: UInt8) -> Bool {
        byte == .equals || value(of: byte) != nil
    }

    /// The bytes that `text` stands for. Blanks in it are skipped.
    static func bytes(of text: some Collection<UInt8>) throws(DecodingFault) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 3)
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for byte in text where !byte.isBlank {
            guard byte != .equals else {
                padding += 1
                continue
            }
            guard let value = value(of: byte) else {
                throw DecodingFault(problem: "is not base64: there is \(byte.spelling) in it")
            }
            guard padding == 0 else { throw DecodingFault(problem: "is not base64: it goes on after its end") }
            group = group << 6 | UInt32(value)
            digits += 1
            guard digits == 4 else { continue }
            for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(shift))) }
            (group, digits) = (0, 0)
        }
        switch digits {
        case 0: break
        case 2: bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        case 3: for shift in [10, 2] { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(shift))) }
        default: throw DecodingFault(problem: "is base64 that is cut short")
        }
        return bytes
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Why bytes that stand in a list as text cannot be had.
struct DecodingFault: Error {
    /// What is wrong, to follow the name of the thing.
    let problem: String
}
