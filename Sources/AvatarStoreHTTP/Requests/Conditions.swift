import AvatarCore
import HTTPTypes

/// The preconditions and the range of a request, held against one representation (RFC 9110 sections 13 and 14).
struct Conditions {
    /// The strong entity tag, with its quotes.
    let etag: String
    /// The time of the Last-Modified field; `nil` without one.
    let modified: Timestamp?
    /// The length of the representation in bytes.
    let length: Int

    /// The part of the representation that a request gets.
    enum Part: Equatable {
        /// All of it.
        case whole
        /// The bytes in this range, which is not empty (206).
        case range(Range<Int>)
        /// None: the range begins behind the end (416).
        case unsatisfiable
    }

    /// Whether the client wants another representation only (412): If-Match is compared strongly; If-Unmodified-Since counts
    /// only without it.
    func isAnother(_ fields: HTTPFields, now: Timestamp) -> Bool {
        if let tags = fields[.ifMatch] { return !Self.tags(tags, weak: false).contains { $0 == "*" || $0 == etag } }
        guard let text = fields[.ifUnmodifiedSince], let modified, let since = HTTPDate.parse(text, now: now) else {
            return false
        }
        return modified.milliseconds / 1000 > since.milliseconds / 1000
    }

    /// Whether the client has the representation (304). If-None-Match is compared weakly; If-Modified-Since counts only
    /// without it.
    ///
    /// The date must be that of the representation, and not a later one: a contact whose newer image was removed has the older
    /// one again.
    func isNotModified(_ fields: HTTPFields, now: Timestamp) -> Bool {
        if let tags = fields[.ifNoneMatch] {
            return tags == etag || Self.tags(tags).contains { $0 == "*" || $0 == etag }
        }
        guard let text = fields[.ifModifiedSince], let modified, let since = HTTPDate.parse(text, now: now) else {
            return false
        }
        return modified.milliseconds / 1000 == since.milliseconds / 1000
    }

    /// The part that the Range field asks for. A field with several ranges, with another unit or with a fault is ignored,
    /// and so is one whose If-Range does not hold.
    func part(_ fields: HTTPFields, now: Timestamp) -> Part {
        guard let text = fields[.range], text.lowercased().hasPrefix("bytes="), holdsIfRange(fields, now: now) else {
            return .whole
        }
        let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false).map {
            $0.trimming(" \t")
        }
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) }), ends != ["", ""] else {
            return .whole
        }
        // A number beyond Int is beyond the end too.
        let (first, last) = (Int(ends[0]) ?? .max, Int(ends[1]) ?? .max)
        if ends[0].isEmpty { return last == 0 ? .unsatisfiable : .range(max(0, length - last)..<length) }
        if !ends[1].isEmpty, last < first { return .whole }
        guard first < length else { return .unsatisfiable }
        return .range(first..<(ends[1].isEmpty ? length : min(last, length - 1) + 1))
    }

    /// Whether the If-Range field names this representation: the same strong tag, or exactly its date.
    private func holdsIfRange(_ fields: HTTPFields, now: Timestamp) -> Bool {
        guard let text = fields[.ifRange] else { return true }
        if text.hasPrefix("\"") { return text == etag }
        guard let modified, let date = HTTPDate.parse(text, now: now, exactly: true) else { return false }
        return modified.milliseconds / 1000 == date.milliseconds / 1000
    }

    /// The entity tags of a list. A tag may hold commas.
    ///
    /// - Parameter weak: whether a weak tag counts as the strong one (RFC 9110 section 8.8.3.2). Default: yes.
    private static func tags(_ text: String, weak: Bool = true) -> [String] {
        var tags: [String] = []
        var rest = text[...]
        while !rest.isEmpty {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            if weak, rest.hasPrefix("W/") { rest = rest.dropFirst(2) }
            if rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") {
                tags.append(String(rest[...end]))
                rest = rest[rest.index(after: end)...]
            } else {
                let end = rest.firstIndex(of: ",") ?? rest.endIndex
                tags.append(String(rest[..<end]).trimming(" \t"))
                rest = rest[end...]
            }
        }
        return tags
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension StringProtocol {
    /// The text without any of `characters` at its ends.
    fileprivate func trimming(_ characters: String) -> String {
        String(drop { characters.contains($0) }.reversed().drop { characters.contains($0) }.reversed())
    }
}
