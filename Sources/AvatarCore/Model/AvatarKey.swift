internal import Foundation

/// The name of one image in the store: a URL in its one normal spelling, an own image's name, or a caller's own key.
///
/// Keys are kept whole and compared byte by byte. The five kinds never collide:
/// `https://…` (normalised), `name:NAME`, `contact:ID`, `email:https://…`, and anything else, which is a caller's own key.
public struct AvatarKey: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes a URL may have, before and after normalisation.
    public static let maximumBytes = 8_192
    /// The most bytes of UTF-8 a name, a contact's id or a caller's own key may have.
    public static let maximumNameBytes = 1_024

    /// The whole key, as the index holds it. A URL's query is part of it: print `redacted` instead.
    public let rawValue: String

    // MARK: Making one

    /// The key of the image at `url`: http or https, in any spelling.
    ///
    /// Normalised by RFC 3986 sections 6.2.2 and 6.2.3: scheme and host in lower case, the default port and the
    /// fragment dropped, dot segments removed, percent-encoding in upper case and not used for unreserved characters,
    /// an international host in its ASCII form. White space around the URL is dropped. A character that may not stand
    /// in a URL (a space, `"`, anything beyond ASCII, `%` without two hexadecimal digits) is percent-encoded as UTF-8;
    /// everything else in the query stays byte for byte. A dot at the end of the host is kept: to the resolver the two
    /// are different names.
    /// - Throws: `unsupportedURL` for another scheme, a relative URL, user info, a missing or impossible host, a port
    ///   outside 1...65535, a control character, and more than `maximumBytes` bytes.
    public init(url string: String) throws(AvatarStoreError) {
        rawValue = try URLNormalization.normalized(string)
    }

    /// The key `name:NAME` of an own image.
    /// - Throws: `invalidKey` unless `name` has 1 to 1,024 bytes of UTF-8 without NUL.
    public init(name: String) throws(AvatarStoreError) {
        try Self.check(name, is: "A name")
        rawValue = Self.namePrefix + name
    }

    /// The key `contact:ID` of the photo that came inside the contact `id`, or `contact:ID#2` of its second one.
    ///
    /// An `id` that itself ends like `#2` is followed by its number also when that is 1 (`contact:a#2#1`), so that no
    /// two photos share a key.
    /// - Throws: `invalidKey` unless `id` has 1 to 1,024 bytes of UTF-8 without NUL and `number` is at least 1.
    public init(contact id: String, number: Int = 1) throws(AvatarStoreError) {
        try Self.check(id, is: "A contact's id")
        guard number >= 1 else {
            throw AvatarStoreError(.invalidKey, "A contact's photo has a number from 1 up, not \(number).")
        }
        let needsNumber = number > 1 || Self.splitNumber(id) != nil
        rawValue = Self.contactPrefix + id + (needsNumber ? "#\(number)" : "")
    }

    /// The key `email:URL` of the image that a source has for an e-mail address.
    ///
    /// A kind of its own: the URL holds a digest of the address, so that the entry goes with the last contact that has
    /// the address, and no message shows its path.
    /// - Throws: as `init(url:)`.
    package init(emailImageAt url: String) throws(AvatarStoreError) {
        rawValue = Self.emailPrefix + (try URLNormalization.normalized(url))
    }

    /// A caller's own key, for an image whose URL is signed anew each time.
    /// - Throws: `invalidKey` unless `custom` has 1 to 1,024 bytes of UTF-8 without control characters, and looks like
    ///   neither `name:…`, `contact:…`, `email:http…` nor an http or https URL.
    public init(custom: String) throws(AvatarStoreError) {
        try Self.check(custom, is: "A key")
        guard !custom.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw AvatarStoreError(.invalidKey, "A key must not hold control characters.")
        }
        guard !Self.looksLikeURL(custom), !Self.looksOwn(custom), Self.emailURL(in: custom) == nil else {
            let message =
                "A caller's own key must not begin like a URL, with \"name:\", \"contact:\" or \"email:http\"."
            throw AvatarStoreError(.invalidKey, message)
        }
        rawValue = custom
    }

    /// What a person means by `text`: a URL in any spelling, `name:NAME`, `contact:ID`, `contact:ID#2`, `email:URL`, or
    /// else a caller's own key.
    /// - Throws: as the initialiser of the kind that `text` is.
    public init(parsing text: String) throws(AvatarStoreError) {
        if Self.looksLikeURL(text) {
            try self.init(url: text)
        } else if let name = Self.rest(of: text, after: Self.namePrefix) {
            try self.init(name: name)
        } else if let photo = Self.rest(of: text, after: Self.contactPrefix) {
            let (id, number) = Self.splitNumber(photo) ?? (photo, 1)
            try self.init(contact: id, number: number)
        } else if let url = Self.emailURL(in: text) {
            try self.init(emailImageAt: url)
        } else {
            try self.init(custom: text)
        }
    }

    /// A key as the index holds it, which was checked when it was made.
    package init(stored: String) {
        rawValue = stored
    }

    // MARK: Asking it

    /// Whether this is an image of the caller's own (`name:…` or `contact:…`): it has no URL and is never fetched.
    public var isOwnImage: Bool { Self.looksOwn(rawValue) }

    /// Whether this is a photo that came inside a contact (`contact:…`).
    public var isContactPhoto: Bool { rawValue.utf8.starts(with: Self.contactPrefix.utf8) }

    /// Whether this is the image that a source has for an e-mail address (`email:https://…`).
    public var isEmailImage: Bool { Self.emailURL(in: rawValue) != nil }

    /// Whether this is a URL.
    public var isURL: Bool { rawValue.hasPrefix("https://") || rawValue.hasPrefix("http://") }

    /// The host and port that a URL is fetched from; `nil` for the other kinds.
    public var host: HostName? { isURL ? HostName(ofNormalizedURL: rawValue) : nil }

    /// What is fetched, where the key says it.
    package var url: String? { isURL ? rawValue : Self.emailURL(in: rawValue) }

    /// The key for messages and logs: a URL without its query, cut to 200 characters; of an e-mail address' image only
    /// the host.
    public var redacted: String {
        if let url = Self.emailURL(in: rawValue) {
            return "\(Self.emailPrefix)\(url.split(separator: "/").prefix(2).joined(separator: "//"))/…"
        }
        return isURL || rawValue.contains("://") ? Self.redact(rawValue) : rawValue
    }

    /// As `redacted`, so that a key in a message gives no secret away; `rawValue` is the whole key.
    public var description: String { redacted }

    /// Whether two keys have the same bytes. (Swift compares strings by canonical equivalence; the index and the
    /// origin do not.)
    public static func == (left: AvatarKey, right: AvatarKey) -> Bool {
        var (left, right) = (left.rawValue, right.rawValue)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
                    return left.isEmpty && right.isEmpty
                }
                return memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = rawValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

// MARK: - The kinds

extension AvatarKey {
    private static let namePrefix = "name:"
    private static let contactPrefix = "contact:"
    private static let emailPrefix = "email:"

    private static func looksOwn(_ text: String) -> Bool {
        text.utf8.starts(with: namePrefix.utf8) || text.utf8.starts(with: contactPrefix.utf8)
    }

    /// The URL in `email:URL`; `nil` in any other text.
    private static func emailURL(in text: String) -> String? {
        guard let url = rest(of: text, after: emailPrefix), looksLikeURL(url) else { return nil }
        return url
    }

    /// What follows `prefix`, taken by bytes: a combining character may follow the colon.
    private static func rest(of text: String, after prefix: String) -> String? {
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        return String(Substring(text.utf8.dropFirst(prefix.utf8.count)))
    }

    /// Whether `text` begins with `http:` or `https:`, whatever its case and the white space before it.
    private static func looksLikeURL(_ text: String) -> Bool {
        let bytes = text.utf8.drop(while: URLNormalization.isWhiteSpace)
        let scheme = bytes.prefix(6).prefix { $0 != UInt8(ascii: ":") }
        guard scheme.count == 4 || scheme.count == 5, bytes.count > scheme.count else { return false }
        return "https".utf8.starts(with: scheme.lazy.map(URLNormalization.lowercased))
    }

    private static func check(_ text: String, is what: String) throws(AvatarStoreError) {
        let count = text.utf8.count
        guard (1...maximumNameBytes).contains(count) else {
            throw AvatarStoreError(.invalidKey, "\(what) has 1 to \(maximumNameBytes) bytes, not \(count).")
        }
        guard !text.utf8.contains(0) else {
            throw AvatarStoreError(.invalidKey, "\(what) must not hold NUL.")
        }
    }

    /// The parts of `a#2`; `nil` if `text` does not end in `#` and a number from 1 up without leading zeros.
    private static func splitNumber(_ text: String) -> (id: String, number: Int)? {
        guard let mark = text.utf8.lastIndex(of: UInt8(ascii: "#")) else { return nil }
        let digits = text[mark...].dropFirst()
        guard let number = Int(digits), number >= 1, String(number) == digits else { return nil }
        return (String(text[..<mark]), number)
    }
}
