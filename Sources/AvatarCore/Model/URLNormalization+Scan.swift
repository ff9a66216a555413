extension URLNormalization {
    /// Whether `url` is spelled as its key already: one look at each byte, nothing allocated.
    ///
    /// May say no to a URL that normalisation leaves as it is (one with a port, say), never yes to another.
    static func isNormalized(_ url: String) -> Bool {
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

    /// The index of the slash after a host name; `nil` for a port, user info or a character to be changed.
    private static func endOfHost(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        let allowed = URLCharacterSet.host
        var index = start
        while index < bytes.count, allowed.contains(bytes[index]) {
            index += 1
        }
        guard index < bytes.count, bytes[index] == UInt8(ascii: "/"), isHostName(bytes[start..<index]) else {
            return nil
        }
        return index
    }

    /// The index of the question mark, or of the end.
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

    /// Whether `%XX` is in upper case and needed.
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
