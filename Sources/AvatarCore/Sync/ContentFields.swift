package import HTTPTypes

/// Which bytes of an image an answer holds (RFC 9110 section 14.4).
package struct ContentRange: Hashable, Sendable {
    /// The positions of the bytes that follow; `nil` where the range asked for cannot be had.
    package let range: ClosedRange<Int64>?
    /// The bytes of the whole image; `nil` if the origin does not say.
    package let total: Int64?

    /// Reads `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`.
    ///
    /// `nil` for another unit, for numbers that contradict each other, and for numbers of more than 18 digits.
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

    /// Whether these are all bytes of the image.
    var isWhole: Bool {
        guard let range, let total else { return false }
        return range == 0...(total - 1)
    }

    /// The value of decimal digits; `nil` for anything else.
    static func number(_ text: some StringProtocol) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}

extension HTTPFields {
    /// Whether a 206 with these fields says that its body is the whole image.
    package var holdWholeBody: Bool {
        let ranges = self[values: .contentRange].map(ContentRange.init)
        guard ranges.count == 1, let range = ranges[0], range.isWhole else { return false }
        return self[values: .contentLength].allSatisfy { ContentRange.number($0) == range.total }
    }

    /// Whether a 206 that was not asked for is to be taken as the whole image: it names no range, or all of it.
    package var mayHoldWholeBody: Bool {
        !contains(.contentRange) || holdWholeBody
    }
}

extension HTTPFields {
    /// The codings of the body in the order in which they were applied, in lower case (RFC 9110 section 8.4).
    /// `identity` and empty members are no codings.
    package var contentCodings: [String] {
        self[values: .contentEncoding].flatMap { $0.split(separator: ",") }
            .map { $0.withoutBlanks.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }
}
