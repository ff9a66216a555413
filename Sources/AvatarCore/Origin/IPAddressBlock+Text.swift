extension IPAddressBlock {
    /// Reads `192.0.2.0/24` or `2001:db8::/32`; bits after the length do not matter.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPAddress(String(parts[0])), let length = Int(parts[1]),
            (0...address.family.bitCount).contains(length)
        else { return nil }
        switch address.family {
        case .v4:
            let bytes = address.bytes
            self.init(bytes[0], bytes[1], bytes[2], bytes[3], length: length)
        case .v6:
            self.init(address.groups, length: length)
        }
    }
}
