// Path and query: percent-encoding (RFC 3986 section 6.2.2.2) and dot segments (sections 6.2.2.3 and 5.2.4).

extension URLNormalization {
    /// `path`, which is empty or begins with a slash, in its normal spelling.
    static func normalizedPath(_ path: ArraySlice<UInt8>) -> [UInt8] {
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

    /// `query`, which is empty or begins with a question mark, with only those characters changed that may not stand
    /// in one: some origins compare a signed query byte for byte.
    static func normalizedQuery(_ query: ArraySlice<UInt8>) -> [UInt8] {
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

    /// The byte that `%XX` at the beginning of `bytes` stands for; `nil` if none begins there.
    @inline(__always)
    static func escapedByte(_ bytes: some RandomAccessCollection<UInt8>) -> UInt8? {
        guard bytes.count >= 3, bytes.first == UInt8(ascii: "%") else { return nil }
        let first = bytes.index(after: bytes.startIndex)
        guard let high = Hexadecimal.value(of: bytes[first]),
            let low = Hexadecimal.value(of: bytes[bytes.index(after: first)])
        else { return nil }
        return high << 4 | low
    }

    /// A percent sign without two digits is in no set, so it becomes `%25`, which is what its author meant.
    private static func append(_ byte: UInt8, to output: inout [UInt8], allowing allowed: URLCharacterSet) {
        guard !allowed.contains(byte) else { return output.append(byte) }
        let digits = Array("0123456789ABCDEF".utf8)
        output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
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
        // A dot segment at the end leaves the folder it is in: "/a/." is "/a/".
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
