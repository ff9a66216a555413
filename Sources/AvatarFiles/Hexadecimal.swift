/// Lower-case hexadecimal digits.
package enum Hexadecimal {
    /// Two digits a byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// 16 random digits.
    package static func random64() -> String {
        let value = UInt64.random(in: .min ... .max)
        return text((0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) })
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
