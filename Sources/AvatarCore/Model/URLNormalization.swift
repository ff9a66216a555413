/// Normalises http and https URLs to the one spelling that is their key (RFC 3986 sections 6.2.2 and 6.2.3).
///
/// A URL that is normalised already, as in most reads, is only scanned (`isNormalized`). Any other is parsed and
/// written again.
struct URLNormalization {
    /// The URL as the caller wrote it, for messages.
    private let original: String
    private let bytes: ArraySlice<UInt8>

    /// The normalised spelling of `url`.
    ///
    /// - Throws: `unsupportedURL`, as `AvatarKey.init(url:)`.
    static func normalized(_ url: String) throws(AvatarStoreError) -> String {
        if isNormalized(url) { return url }
        return try URLNormalization(url).normalized()
    }

    private init(_ url: String) {
        original = url
        var bytes = ArraySlice(url.utf8).drop(while: Self.isWhiteSpace)
        while let last = bytes.last, Self.isWhiteSpace(last) {
            bytes.removeLast()
        }
        self.bytes = bytes
    }

    // MARK: Parts of the URL

    private func normalized() throws(AvatarStoreError) -> String {
        try checkWhole()
        let scheme = try scheme()
        let rest = bytes.dropFirst(scheme.utf8.count + 3)
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        let path = rest[authority.endIndex...].prefix { !"?#".utf8.contains($0) }
        let query = rest[path.endIndex...].prefix { $0 != UInt8(ascii: "#") }

        var output = Array("\(scheme)://".utf8)
        output += try normalizedAuthority(authority, defaultPort: scheme == "https" ? 443 : 80)
        output += Self.normalizedPath(path)
        output += Self.normalizedQuery(query)
        try checkLength(output.count)
        return String(decoding: output, as: UTF8.self)
    }

    private func checkWhole() throws(AvatarStoreError) {
        try checkLength(bytes.count)
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw refusal("contains a control character, which must be percent-encoded")
        }
    }

    private func checkLength(_ count: Int) throws(AvatarStoreError) {
        let limit = AvatarKey.maximumBytes
        guard count <= limit else { throw refusal("has \(count) bytes, more than the limit of \(limit) bytes") }
    }

    /// The scheme in lower case, `http` or `https`.
    private func scheme() throws(AvatarStoreError) -> String {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[..<colon].allSatisfy(URLCharacterSet.scheme.contains)
        else { throw refusal("is relative; it must begin with http:// or https://") }
        let scheme = String(decoding: bytes[..<colon].map(Self.lowercased), as: UTF8.self)
        guard scheme == "http" || scheme == "https" else { throw refusal("must begin with http:// or https://") }
        guard bytes[colon...].dropFirst().starts(with: "//".utf8) else { throw refusal("has no host") }
        return scheme
    }

    /// An error that quotes the URL without its secrets; `reason` is the rest of the sentence.
    private func refusal(_ reason: String) -> AvatarStoreError {
        let message = "The URL \"\(AvatarKey.redact(original))\" \(reason)."
        return AvatarStoreError(.unsupportedURL, message, failure: .unsupportedURL)
    }
}

// MARK: - Bytes

extension URLNormalization {
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension URLNormalization {
    /// Whether `url` is normalised already, found in one pass without allocating.
    ///
    /// The answer `true` is certain. The answer may be `false` for a normalised URL with a rare part, such as an IPv6 address.
    private static func isNormalized(_ url: String) -> Bool {
        url.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.count <= AvatarKey.maximumBytes, let hostStart = endOfScheme(bytes),
                let pathStart = endOfHost(bytes, from: hostStart),
                let queryStart = endOfPath(bytes, from: pathStart)
            else { return false }
            return isQuery(bytes, from: queryStart)
        } ?? false
    }

    private static func endOfScheme(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        if bytes.starts(with: "https://".utf8) { return 8 }
        return bytes.starts(with: "http://".utf8) ? 7 : nil
    }

    /// The index of the slash after a host name and its port; `nil` for user info or a character that must be changed.
    private static func endOfHost(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        let allowed = URLCharacterSet.host
        var index = start
        while index < bytes.count, allowed.contains(bytes[index]) {
            index += 1
        }
        guard index < bytes.count, isHostName(bytes[start..<index]) else { return nil }
        if bytes[index] == UInt8(ascii: ":") {
            guard let end = endOfPort(bytes, from: index + 1, defaultPort: start == 8 ? 443 : 80) else { return nil }
            index = end
        }
        return index < bytes.count && bytes[index] == UInt8(ascii: "/") ? index : nil
    }

    /// The index after the digits of a port; `nil` unless it is a number from 1 to 65535 in its shortest spelling, and not
    /// `defaultPort`.
    private static func endOfPort(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, defaultPort: Int) -> Int? {
        var index = start
        var port = 0
        while index < bytes.count, isDigit(bytes[index]) {
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            // Also for a zero at the beginning.
            guard port > 0, port <= 65_535 else { return nil }
            index += 1
        }
        return port == 0 || port == defaultPort ? nil : index
    }

    /// The index of the question mark or of the end; `nil` if the path is not normalised.
    private static func endOfPath(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        let allowed = URLCharacterSet.path
        var index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "?") {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard isNormalEscape(bytes, at: index) else { return nil }
                index += 2
            } else if !allowed.contains(byte) || (byte == UInt8(ascii: "/") && isDotSegment(bytes, at: index + 1)) {
                return nil
            }
            index += 1
        }
        return index
    }

    private static func isQuery(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        let allowed = URLCharacterSet.query
        var index = start
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%") {
                guard escapedByte(bytes[index...]) != nil else { return false }
                index += 2
            } else if !allowed.contains(bytes[index]) {
                return false
            }
            index += 1
        }
        return true
    }

    /// Whether the `%XX` at `index` is in upper case and stands for a character that must be encoded.
    private static func isNormalEscape(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard let byte = escapedByte(bytes[index...]), !URLCharacterSet.unreserved.contains(byte) else { return false }
        return bytes[index + 1] < UInt8(ascii: "a") && bytes[index + 2] < UInt8(ascii: "a")
    }

    /// Whether the segment that begins at `index` is `.` or `..`.
    private static func isDotSegment(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: ".") else { return false }
        let afterDots = index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: ".") ? index + 2 : index + 1
        return afterDots == bytes.count || bytes[afterDots] == UInt8(ascii: "/")
            || bytes[afterDots] == UInt8(ascii: "?")
    }
}

// The authority: host and port (RFC 3986 sections 3.2, 6.2.2.1 and 6.2.3). User info is refused.

extension URLNormalization {
    private func normalizedAuthority(_ authority: ArraySlice<UInt8>, defaultPort: Int) throws(AvatarStoreError)
        -> [UInt8]
    {
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw refusal("contains user info; pass credentials in a header field instead")
        }
        let literalEnd = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        let host = authority[..<literalEnd] + authority[literalEnd...].prefix { $0 != UInt8(ascii: ":") }
        guard !host.isEmpty else { throw refusal("has no host") }
        let normalizedHost = try normalizedHost(host)
        guard let port = try port(authority.dropFirst(host.count)), port != defaultPort else { return normalizedHost }
        return normalizedHost + Array(":\(port)".utf8)
    }

    /// Whether `host` is a name that a resolver accepts: letters, digits, hyphens and underscores, in labels of 1 to 63
    /// characters, at most 253 characters in all (RFC 1035 section 2.3.4). A dot at the end is allowed.
    private static func isHostName(_ host: some Collection<UInt8>) -> Bool {
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

    private func normalizedHost(_ host: ArraySlice<UInt8>) throws(AvatarStoreError) -> [UInt8] {
        guard host.first != UInt8(ascii: "[") else { return try normalizedLiteral(host) }
        let name = try asciiName(unescaped(host)).map(Self.lowercased)
        guard Self.isHostName(name) else { throw refusal("has an invalid host name") }
        return name
    }

    /// Normalises `[…]`: an IPv6 address in its shortest spelling (RFC 5952). Zones are refused, because they have a
    /// meaning on one machine only.
    private func normalizedLiteral(_ host: ArraySlice<UInt8>) throws(AvatarStoreError) -> [UInt8] {
        let text = String(decoding: host.dropFirst().dropLast(), as: UTF8.self)
        guard host.last == UInt8(ascii: "]"), let address = IPAddress(text), address.family == .v6 else {
            throw refusal("has a host in brackets that is not an IPv6 address without a zone")
        }
        return Array("[\(address)]".utf8)
    }

    /// The host without percent-encoding, which stands for UTF-8 (RFC 3986 section 3.2.2).
    private func unescaped(_ host: ArraySlice<UInt8>) throws(AvatarStoreError) -> [UInt8] {
        var output: [UInt8] = []
        var rest = host
        while let byte = rest.first {
            guard byte == UInt8(ascii: "%") else {
                output.append(byte)
                rest = rest.dropFirst()
                continue
            }
            guard let escaped = Self.escapedByte(rest) else { throw refusal("has an invalid host name") }
            output.append(escaped)
            rest = rest.dropFirst(3)
        }
        return output
    }

    /// The host in ASCII; an international name is encoded by IDNA.
    private func asciiName(_ host: [UInt8]) throws(AvatarStoreError) -> [UInt8] {
        guard host.contains(where: { $0 >= 0x80 }) else { return host }
        guard let text = String(validating: host, as: UTF8.self), let name = IDNA.ascii(text),
            name.allSatisfy(URLCharacterSet.host.contains)
        else {
            throw refusal("has a host name that IDNA cannot encode in ASCII")
        }
        return name
    }

    /// The port after the colon; `nil` without a colon or without digits after it (RFC 3986 section 6.2.3).
    private func port(_ text: ArraySlice<UInt8>) throws(AvatarStoreError) -> Int? {
        let digits = text.dropFirst()
        guard !digits.isEmpty else { return nil }
        guard digits.allSatisfy(Self.isDigit), let port = Int(String(decoding: digits, as: UTF8.self)),
            (1...65_535).contains(port)
        else { throw refusal("has an invalid port, which must be a number from 1 to 65535") }
        return port
    }
}

// Path and query: percent-encoding (RFC 3986 section 6.2.2.2) and dot segments (sections 6.2.2.3 and 5.2.4).

extension URLNormalization {
    /// Normalises `path`, which is empty or begins with a slash.
    private static func normalizedPath(_ path: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        var rest = path
        while let byte = rest.first {
            if let escaped = escapedByte(rest) {
                append(escaped, to: &output, allowing: .unreserved)
                rest = rest.dropFirst(3)
            } else {
                append(byte, to: &output, allowing: .path)
                rest = rest.dropFirst()
            }
        }
        return withoutDotSegments(output)
    }

    /// Normalises `query`, which is empty or begins with a question mark.
    ///
    /// Encodes only the characters that a query must not contain, because some origins compare a signed query byte for
    /// byte.
    private static func normalizedQuery(_ query: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        var rest = query
        while let byte = rest.first {
            if escapedByte(rest) != nil {
                output += rest.prefix(3)
                rest = rest.dropFirst(3)
            } else {
                append(byte, to: &output, allowing: .query)
                rest = rest.dropFirst()
            }
        }
        return output
    }

    /// The byte that `%XX` at the start of `bytes` encodes; `nil` if `bytes` do not start with an escape.
    @inline(__always)
    private static func escapedByte(_ bytes: some RandomAccessCollection<UInt8>) -> UInt8? {
        guard bytes.count >= 3, bytes.first == UInt8(ascii: "%") else { return nil }
        let first = bytes.index(after: bytes.startIndex)
        guard let high = Hexadecimal.value(of: bytes[first]),
            let low = Hexadecimal.value(of: bytes[bytes.index(after: first)])
        else { return nil }
        return high << 4 | low
    }

    /// Appends `byte`, percent-encoded unless `allowed` contains it. A percent sign without two digits becomes `%25`,
    /// as its author meant.
    private static func append(_ byte: UInt8, to output: inout [UInt8], allowing allowed: URLCharacterSet) {
        PercentEncoding.append(byte, to: &output, isKept: allowed.contains(byte))
    }

    private static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        for segment in segments {
            if segment.elementsEqual("..".utf8) {
                _ = kept.popLast()
            } else if !segment.elementsEqual(".".utf8) {
                kept.append(segment)
            }
        }
        // A dot segment at the end stands for a folder: "/a/." is "/a/".
        if let last = segments.last, last.elementsEqual(".".utf8) || last.elementsEqual("..".utf8) {
            kept.append([])
        }
        guard let first = kept.first else { return [UInt8(ascii: "/")] }
        return kept.dropFirst().reduce(into: [UInt8(ascii: "/")] + first) { path, segment in
            path.append(UInt8(ascii: "/"))
            path += segment
        }
    }
}
