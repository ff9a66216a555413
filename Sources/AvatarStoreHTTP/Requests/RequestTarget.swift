import AvatarCore

/// The path and the query of a request target (RFC 9112 section 3.2), decoded.
struct RequestTarget: Equatable {
    /// The segments of the path, each decoded by itself, so that a `%2F` belongs to its segment. Empty for `/`.
    let segments: [String]
    /// The parameters of the query. Of a name that is given twice, the first counts.
    let query: [String: String]

    /// The target `text` in origin form or absolute form.
    ///
    /// - Returns: `nil` if it has another form, or its decoded text holds NUL or is not UTF-8.
    init?(_ text: String) {
        guard let target = Self.originForm(text) else { return nil }
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        var segments: [String] = []
        for segment in target[..<end].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            guard let decoded = Self.decoded(segment) else { return nil }
            segments.append(decoded)
        }
        var query: [String: String] = [:]
        for pair in target[end...].dropFirst().split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first.flatMap({ Self.decoded($0, plusIsSpace: true) }),
                let value = Self.decoded(parts.count > 1 ? parts[1] : [], plusIsSpace: true)
            else { return nil }
            if query[name] == nil { query[name] = value }
        }
        self.segments = segments == [""] ? [] : segments
        self.query = query
    }

    /// The bytes of the target from its path on; `nil` for the authority form and the asterisk form.
    private static func originForm(_ text: String) -> ArraySlice<UInt8>? {
        let bytes = Array(text.utf8)
        if bytes.first == UInt8(ascii: "/") { return bytes[...] }
        for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
            let rest = bytes[scheme.utf8.count...]
            guard let slash = rest.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
                return [UInt8(ascii: "/")]
            }
            return rest[slash] == UInt8(ascii: "/") ? rest[slash...] : [UInt8(ascii: "/")] + rest[slash...]
        }
        return nil
    }

    /// The text that `bytes` encode (RFC 3986 section 2.1); `nil` for a `%` without two digits, for NUL and for bytes that are
    /// not UTF-8.
    private static func decoded(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String? {
        guard let decoded = PercentEncoding.decode(bytes, plusIsSpace: plusIsSpace), !decoded.contains(0) else {
            return nil
        }
        return String(validating: decoded, as: UTF8.self)
    }

    /// `text` as one segment of a path: everything but unreserved characters is encoded.
    static func encoded(_ text: String) -> String {
        // A segment of dots only would be removed by clients.
        let isOnlyDots = text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
        return isOnlyDots ? String(repeating: "%2E", count: text.utf8.count) : PercentEncoding.encode(text)
    }
}
