package import HTTPTypes

/// A Content-Range field: the bytes of an image that a response contains (RFC 9110 section 14.4).
package struct ContentRange: Hashable, Sendable {
    /// The positions of the bytes in the body; `nil` if the origin cannot satisfy the requested range.
    package let range: ClosedRange<Int64>?
    /// The length of the whole image in bytes; `nil` if the origin does not state it.
    package let total: Int64?

    /// Reads `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`.
    ///
    /// `nil` for another unit, for numbers that contradict each other, and for numbers with more than 18 digits.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        total = Self.number(parts[1])
        guard total != nil || parts[1] == "*" else { return nil }
        guard parts[0] != "*" else {
            range = nil
            if total == nil { return nil }
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(Self.number)
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < total ?? .max else {
            return nil
        }
        range = first...last
    }

    /// Whether the range covers the whole image.
    var isWhole: Bool {
        guard let range, let total else { return false }
        return range == 0...(total - 1)
    }

    /// The value of 1 to 18 decimal digits; `nil` for any other text.
    static func number(_ text: some StringProtocol) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}

extension HTTPFields {
    /// The first line of the field `name`; `nil` without one.
    func firstValue(of name: HTTPField.Name) -> String? {
        first { $0.name == name }?.value
    }

    /// All lines of the field `name` as one list (RFC 9110 section 5.3); `nil` without one. Nearly all fields have one line, which
    /// is not copied.
    func listValue(of name: HTTPField.Name) -> String? {
        var list: String?
        for field in self where field.name == name { list = list.map { $0 + ", " + field.value } ?? field.value }
        return list
    }

    /// Whether the body of a 206 with these fields is the whole image.
    package var holdWholeBody: Bool {
        let ranges = self[values: .contentRange].map(ContentRange.init)
        guard ranges.count == 1, let range = ranges[0], range.isWhole else { return false }
        return self[values: .contentLength].allSatisfy { ContentRange.number($0) == range.total }
    }

    /// Whether the body of a 206 that no range request caused counts as the whole image: it names no range, or the
    /// whole.
    package var mayHoldWholeBody: Bool {
        !contains(.contentRange) || holdWholeBody
    }
}

extension HTTPFields {
    /// The content codings of the body in lower case, in the order in which they were applied (RFC 9110 section 8.4).
    /// `identity` and empty members do not count.
    package var contentCodings: [String] {
        self[values: .contentEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.withoutBlanks.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
