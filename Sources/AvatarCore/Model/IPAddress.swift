/// An IPv4 or IPv6 address without a zone.
///
/// URL normalisation reads IPv6 literals with it, and the address guard of `AvatarOrigin` judges by its bits.
package struct IPAddress: Hashable, Sendable {
    /// The protocol of an address.
    package enum Family: Hashable, Sendable {
        case v4
        case v6

        /// The number of bits of an address: 32 or 128.
        package var bitCount: Int { self == .v4 ? 32 : 128 }
    }

    /// The protocol of the address.
    package let family: Family
    /// The address as a number. An IPv4 address takes the low 32 bits.
    package let bits: UInt128

    /// Reads `bytes` in network byte order: 4 are an IPv4 address, 16 an IPv6 address; `nil` for any other count.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: family = .v4
        case 16: family = .v6
        default: return nil
        }
        bits = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// The address of `family` with the number `bits`.
    package init(family: Family, bits: UInt128) {
        self.family = family
        self.bits = bits
    }

    /// The IPv4 address in the 32 bits that begin at bit `offset`, counted from the left.
    package func embeddedIPv4(at offset: Int) -> IPAddress {
        IPAddress(family: .v4, bits: bits >> UInt128(family.bitCount - offset - 32) & 0xFFFF_FFFF)
    }
}

extension IPAddress: LosslessStringConvertible {
    /// Reads `192.0.2.1`, `2001:db8::1` or `::ffff:192.0.2.1` (RFC 4291 section 2.2).
    ///
    /// `nil` for anything else: zones, brackets, and IPv4 with fewer parts, leading zeros or hexadecimal digits,
    /// because programs disagree on those spellings.
    package init?(_ description: String) {
        if description.utf8.contains(UInt8(ascii: ":")) {
            guard let bits = Self.bits(ofIPv6: description[...]) else { return nil }
            self.init(family: .v6, bits: bits)
        } else {
            guard let bits = Self.bits(ofIPv4: description[...]) else { return nil }
            self.init(family: .v4, bits: UInt128(bits))
        }
    }

    /// The canonical spelling: dotted decimal for IPv4, RFC 5952 for IPv6.
    package var description: String {
        switch family {
        case .v4: bytes.map { String($0) }.joined(separator: ".")
        case .v6: Self.text(ofGroups: groups)
        }
    }

    /// The four bytes of an IPv4 address.
    private var bytes: [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> UInt128($0)) }
    }

    /// The eight groups of an IPv6 address.
    private var groups: [UInt16] {
        stride(from: 112, through: 0, by: -16).map { UInt16(truncatingIfNeeded: bits >> UInt128($0)) }
    }

    // MARK: Reading

    private static func bits(ofIPv4 text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bits: UInt32 = 0
        for part in parts {
            guard let byte = UInt8(part), String(byte) == part else { return nil }
            bits = bits << 8 | UInt32(byte)
        }
        return bits
    }

    private static func bits(ofIPv6 text: Substring) -> UInt128? {
        guard let gap = text.firstRange(of: "::") else {
            return groups(of: text).flatMap { $0.count == 8 ? bits(ofGroups: $0) : nil }
        }
        guard let head = groups(of: text[..<gap.lowerBound], endsAddress: false),
            let tail = groups(of: text[gap.upperBound...]), head.count + tail.count < 8
        else { return nil }
        return bits(ofGroups: head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
    }

    /// The groups between colons. If `text` ends the address, its last part may be an IPv4 address, which is two
    /// groups.
    private static func groups(of text: Substring, endsAddress: Bool = true) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var groups: [UInt16] = []
        for (index, part) in parts.enumerated() {
            if endsAddress, index == parts.count - 1, let bits = bits(ofIPv4: part) {
                groups += [UInt16(bits >> 16), UInt16(truncatingIfNeeded: bits)]
            } else {
                guard part.count <= 4, part.allSatisfy(\.isHexDigit), let group = UInt16(part, radix: 16) else {
                    return nil
                }
                groups.append(group)
            }
        }
        return groups
    }

    private static func bits(ofGroups groups: [UInt16]) -> UInt128 {
        groups.reduce(0) { $0 << 16 | UInt128($1) }
    }

    // MARK: Writing

    /// Lower case, with `::` for the first of the longest runs of two or more zero groups (RFC 5952 section 4).
    private static func text(ofGroups groups: [UInt16]) -> String {
        let gap = longestZeroRun(in: groups)
        guard gap.count >= 2 else { return joined(groups[...]) }
        return joined(groups[..<gap.lowerBound]) + "::" + joined(groups[gap.upperBound...])
    }

    private static func joined(_ groups: ArraySlice<UInt16>) -> String {
        groups.map { String($0, radix: 16) }.joined(separator: ":")
    }

    private static func longestZeroRun(in groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 {
                start = index + 1
            } else if index + 1 - start > longest.count {
                longest = start..<index + 1
            }
        }
        return longest
    }
}

extension IPAddress {
    /// The address that the system's resolver reads from a URL's host without a name server: `[2001:db8::1]`,
    /// `192.0.2.1`, and the spellings that `inet_aton` accepts, such as `192.0.513`, `0xC0000201` and `0300.0.02.1`.
    ///
    /// `nil` for a name.
    package init?(host: String) {
        if host.utf8.first == UInt8(ascii: "[") {
            self.init(String(host.dropFirst().dropLast()))
        } else {
            guard let bits = Self.looseIPv4(host) else { return nil }
            self.init(family: .v4, bits: UInt128(bits))
        }
    }

    /// Reads one to four numbers; the last one fills the rest of the 32 bits.
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

    /// Reads a number in decimal, octal (`0…`) or hexadecimal (`0x…`) digits.
    private static func looseNumber(_ text: Substring) -> UInt64? {
        let isHexadecimal = text.lowercased().hasPrefix("0x")
        let isOctal = !isHexadecimal && text.utf8.count > 1 && text.utf8.first == UInt8(ascii: "0")
        let digits = isHexadecimal ? text.dropFirst(2) : text
        // UInt64.init would accept a sign.
        guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        return UInt64(digits, radix: isHexadecimal ? 16 : isOctal ? 8 : 10)
    }
}
