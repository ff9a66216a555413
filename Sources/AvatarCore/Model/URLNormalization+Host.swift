internal import Foundation

// The authority: user info (refused), host and port (RFC 3986 sections 3.2, 6.2.2.1 and 6.2.3).

extension URLNormalization {
    func normalizedAuthority(_ authority: ArraySlice<UInt8>, defaultPort: Int) throws(AvatarStoreError) -> [UInt8] {
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw refusal("holds user info: give credentials in a header")
        }
        let literalEnd = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        let host = authority[..<literalEnd] + authority[literalEnd...].prefix { $0 != UInt8(ascii: ":") }
        guard !host.isEmpty else { throw refusal("has no host") }
        let normalizedHost = try normalizedHost(host)
        guard let port = try port(authority.dropFirst(host.count)), port != defaultPort else { return normalizedHost }
        return normalizedHost + Array(":\(port)".utf8)
    }

    /// Whether `host` can be looked up: labels of 1 to 63 characters, 253 in all and a dot at the end at most
    /// (RFC 1035 section 2.3.4), of letters, digits, hyphen and underscore.
    static func isHostName(_ host: some Collection<UInt8>) -> Bool {
        var length = 0
        var label = 0
        for byte in host {
            guard URLCharacterSet.host.contains(byte) else { return false }
            length += 1
            if byte == UInt8(ascii: ".") {
                guard label > 0 else { return false }
                label = 0
            } else {
                label += 1
                guard label <= 63 else { return false }
            }
        }
        return length > 0 && length - (label == 0 ? 1 : 0) <= 253
    }

    // MARK: How it works

    private func normalizedHost(_ host: ArraySlice<UInt8>) throws(AvatarStoreError) -> [UInt8] {
        guard host.first != UInt8(ascii: "[") else { return try normalizedLiteral(host) }
        let name = try asciiName(unescaped(host)).map(Self.lowercased)
        guard Self.isHostName(name) else { throw refusal("has a host that is no host name") }
        return name
    }

    /// `[…]`: an IPv6 address, in its shortest spelling (RFC 5952). A zone has a meaning on one machine only.
    private func normalizedLiteral(_ host: ArraySlice<UInt8>) throws(AvatarStoreError) -> [UInt8] {
        let text = String(decoding: host.dropFirst().dropLast(), as: UTF8.self)
        guard host.last == UInt8(ascii: "]"), let address = IPAddress(text), address.family == .v6 else {
            throw refusal("has a host in brackets that is no IPv6 address, or one with a zone")
        }
        return Array("[\(address)]".utf8)
    }

    /// The host with its percent-encoding undone (RFC 3986 section 3.2.2: it stands for UTF-8).
    private func unescaped(_ host: ArraySlice<UInt8>) throws(AvatarStoreError) -> [UInt8] {
        var output: [UInt8] = []
        var rest = host
        while let byte = rest.first {
            guard byte == UInt8(ascii: "%") else {
                output.append(byte)
                rest = rest.dropFirst()
                continue
            }
            guard let escaped = Self.escapedByte(rest) else { throw refusal("has a host that is no host name") }
            output.append(escaped)
            rest = rest.dropFirst(3)
        }
        return output
    }

    /// The host in ASCII: an international name as the resolver wants it (IDNA).
    private func asciiName(_ host: [UInt8]) throws(AvatarStoreError) -> [UInt8] {
        guard host.contains(where: { $0 >= 0x80 }) else { return host }
        var components = URLComponents()
        components.host = String(validating: host, as: UTF8.self)
        // Foundation falls back to percent-encoding, which is no host name, where IDNA does not allow the name.
        guard let encoded = components.encodedHost, !encoded.utf8.contains(UInt8(ascii: "%")) else {
            throw refusal("has a host that cannot be written in ASCII")
        }
        return Array(encoded.utf8)
    }

    /// The port after the colon; `nil` if there is none, or nothing after the colon (RFC 3986 section 6.2.3).
    private func port(_ text: ArraySlice<UInt8>) throws(AvatarStoreError) -> Int? {
        let digits = text.dropFirst()
        guard !digits.isEmpty else { return nil }
        guard digits.allSatisfy(Self.isDigit), let port = Int(String(decoding: digits, as: UTF8.self)),
            (1...65_535).contains(port)
        else { throw refusal("has a port that is not a number from 1 to 65535") }
        return port
    }
}
