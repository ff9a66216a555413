import AvatarCore

/// Paths at a server in one spelling: servers encode the same path in different ways.
enum DAVPath {
    /// `path` with exactly those bytes encoded that are neither unreserved (RFC 3986 section 2.3) nor slashes. An encoded slash stays
    /// encoded.
    static func canonical(_ path: String) -> String {
        var text: [UInt8] = []
        var rest = Array(path.utf8)[...]
        while let byte = rest.first {
            let escaped = PercentEncoding.escapedByte(rest)
            rest = rest.dropFirst(escaped == nil ? 1 : 3)
            let isSlash = escaped == nil && byte == UInt8(ascii: "/")
            let plain = escaped ?? byte
            PercentEncoding.append(plain, to: &text, isKept: isSlash || PercentEncoding.isUnreserved(plain))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The canonical path that `reference` means at the server `base`; `nil` if it is at another one.
    static func resolve(_ reference: String, at base: String) -> String? {
        let text = reference.withoutWhiteSpace
        guard text.hasPrefix("/") else {
            guard let mark = text.firstRange(of: "://") else { return nil }
            let rest = text[mark.upperBound...]
            let authority = rest.prefix { $0 != "/" }
            let origin = text[..<mark.upperBound].lowercased() + authority.lowercased()
            guard withoutPort(origin) == withoutPort(base.lowercased()) else { return nil }
            let path = String(rest.dropFirst(authority.count))
            return isPlain(path) ? canonical(path.isEmpty ? "/" : path) : nil
        }
        return isPlain(text) ? canonical(text) : nil
    }

    /// Whether `path` has no query, no fragment and no step upwards.
    private static func isPlain(_ path: String) -> Bool {
        !path.contains { $0 == "?" || $0 == "#" } && !path.split(separator: "/").contains { $0 == ".." || $0 == "." }
    }

    /// `origin` without the port that its scheme has by default.
    private static func withoutPort(_ origin: String) -> String {
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")] where origin.hasPrefix(scheme) {
            if origin.hasSuffix(port) { return String(origin.dropLast(port.count)) }
        }
        return origin
    }

    /// The decoded name at the end of `path`.
    static func name(of path: String) -> String {
        let last = path.split(separator: "/").last ?? ""
        return last.percentDecoded ?? String(last)
    }
}

extension String {
    /// Whether it is the path of a collection.
    var isCollectionPath: Bool { hasSuffix("/") }

    /// As the text of an XML element.
    var escapedForXML: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
