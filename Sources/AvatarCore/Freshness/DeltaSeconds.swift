/// Whole seconds as HTTP writes them (RFC 9111 section 1.2.2).
enum DeltaSeconds {
    /// What larger values count as: 2^31 seconds, 68 years.
    static let maximum: Int64 = 1 << 31

    /// The value of `text`; `nil` unless it is digits only.
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = min(value * 10 + Int64(byte - UInt8(ascii: "0")), maximum)
        }
        return value
    }

    /// `seconds` as an age or a lifetime: not negative, and no larger than the largest.
    static func clamped(_ seconds: Int64) -> Int64 {
        min(max(seconds, 0), maximum)
    }
}
