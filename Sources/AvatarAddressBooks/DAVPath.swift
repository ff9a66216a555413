/// Paths at a server in one spelling: servers encode the same path in different ways.
enum DAVPath {
    /// `path` with exactly those bytes encoded that are neither unreserved (RFC 3986 section 2.3) nor slashes. An encoded slash stays
    /// encoded.
    static func canonical(_ path: String) -> String {
        let bytes = Array(path.utf8)
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            var byte = bytes[index]
            var isEncoded = false
            index += 1
            if byte == UInt8(ascii: "%"), index + 2 <= bytes.count,
                let value = UInt8(String(decoding: bytes[index..<index + 2], as: UTF8.self), radix: 16)
            {
                (byte, isEncoded) = (value, true)
                index += 2
            }
            if isUnreserved(byte) || byte == UInt8(ascii: "/") && !isEncoded {
                text.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The canonical path that `reference` means at the server `base`; `nil` if it is at another one.
    static func resolve(_ reference: String, at base: String) -> String? {
        let text = reference.trimmed
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
        var bytes: [UInt8] = []
        let last = Array((path.split(separator: "/").last ?? "").utf8)
        var index = 0
        while index < last.count {
            if last[index] == UInt8(ascii: "%"), index + 3 <= last.count,
                let value = UInt8(String(decoding: last[index + 1..<index + 3], as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                index += 3
            } else {
                bytes.append(last[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// Whether it is the path of a collection.
    var isCollectionPath: Bool { hasSuffix("/") }

    /// As the text of an XML element.
    var escapedForXML: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
