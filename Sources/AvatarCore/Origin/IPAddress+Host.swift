extension IPAddress {
    /// The address that the system's resolver takes a URL's host for, without asking anybody: `[2001:db8::1]`,
    /// `192.0.2.1`, and what `inet_aton` takes for an IPv4 address: `192.0.513`, `0xC0000201`, `0300.0.02.1`.
    ///
    /// `nil` for a name.
    init?(host: String) {
        if host.utf8.first == UInt8(ascii: "[") {
            self.init(String(host.dropFirst().dropLast()))
        } else {
            guard let bits = Self.looseIPv4(host) else { return nil }
            self.init(family: .v4, bits: UInt128(bits))
        }
    }

    /// One to four numbers; the last one fills what is left of the 32 bits.
    private static func looseIPv4(_ host: String) -> UInt32? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count), let last = parts.last.flatMap(looseNumber) else { return nil }
        var bits: UInt64 = 0
        for part in parts.dropLast() {
            guard let byte = looseNumber(part), byte <= 0xFF else { return nil }
            bits = bits << 8 | byte
        }
        let free = UInt64(8 * (5 - parts.count))
        guard last >> free == 0 else { return nil }
        return UInt32(bits << free | last)
    }

    /// A number in decimal, octal (`0…`) or hexadecimal (`0x…`) digits.
    private static func looseNumber(_ text: Substring) -> UInt64? {
        let isHexadecimal = text.lowercased().hasPrefix("0x")
        let isOctal = !isHexadecimal && text.utf8.count > 1 && text.utf8.first == UInt8(ascii: "0")
        let digits = isHexadecimal ? text.dropFirst(2) : text
        // The initialiser would take a sign.
        guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        return UInt64(digits, radix: isHexadecimal ? 16 : isOctal ? 8 : 10)
    }
}
