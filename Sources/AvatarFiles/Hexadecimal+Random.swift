package import AvatarCore

extension Hexadecimal {
    /// 16 random digits, for names that are used once.
    package static func random64() -> String {
        let value = UInt64.random(in: .min ... .max)
        return text((0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) })
    }
}
