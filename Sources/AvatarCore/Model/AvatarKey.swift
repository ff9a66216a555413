#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The key of one image in the store: a normalised URL, the name of an own image, or a custom key.
///
/// The index keeps keys whole and compares them byte by byte. The five kinds never collide: `https://…` (normalised),
/// `name:NAME`, `contact:ID`, `email:https://…`, and any other text, which is a custom key.
public struct AvatarKey: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length of a URL in bytes, before and after normalisation: 8,192.
    package static let maximumBytes = 8_192
    /// The maximum length of a name, a contact id or a custom key in bytes of UTF-8: 1,024.
    package static let maximumNameBytes = 1_024

    /// The whole key, as the index holds it. It includes a URL's query, which may be secret: print the key itself
    /// instead, whose `description` leaves the query out.
    public let rawValue: String

    // MARK: Creating keys

    /// The key of the image at `url`: http or https, in any spelling.
    ///
    /// The URL is normalised by RFC 3986 sections 6.2.2 and 6.2.3. Scheme and host become lower case, an international
    /// host becomes ASCII, and the default port, the fragment and dot segments are removed. Percent-encoding becomes
    /// upper case, and is undone for unreserved characters. White space around the URL is removed. A character that a
    /// URL must not contain (a space, `"`, anything beyond ASCII, `%` without two hexadecimal digits) is
    /// percent-encoded as UTF-8; the rest of the query stays byte for byte. A dot at the end of the host stays, because
    /// a resolver treats the two as different names.
    /// - Throws: `unsupportedURL` for another scheme, a relative URL, user info, a missing or invalid host, a port
    ///   outside 1...65535, a control character, or more than 8,192 bytes.
    public init(url string: String) throws(AvatarStoreError) {
        rawValue = try URLNormalization.normalized(string)
    }

    /// The key `name:NAME` of an own image, which the caller saves and the store never fetches.
    /// - Throws: `invalidKey` unless `name` has 1 to 1,024 bytes of UTF-8 without NUL.
    public init(name: String) throws(AvatarStoreError) {
        try Self.check(name, is: "A name")
        rawValue = Self.namePrefix + name
    }

    /// The key `name:contact/ID` of the image that the caller saves for the contact `id`. No list and no sync touches it.
    ///
    /// - Throws: `invalidKey` unless `id` has 1 to 1,016 bytes of UTF-8 without NUL.
    public init(savedForContact id: String) throws(AvatarStoreError) {
        try Self.check(id, is: "The id of a contact with an image of its own", limit: Self.maximumNameBytes - 8)
        rawValue = Self.savedForContactPrefix + id
    }

    /// The key `contact:ID` of the first photo embedded in the contact `id`, or `contact:ID#2` of its second one.
    ///
    /// If `id` itself ends like `#2`, the key also states the number 1 (`contact:a#2#1`), so that no two photos share a
    /// key.
    ///
    /// - Parameters:
    ///   - id: the id of the contact.
    ///   - number: the position of the photo, counted from 1. Default: 1.
    /// - Throws: `invalidKey` unless `id` has 1 to 1,024 bytes of UTF-8 without NUL and `number` is at least 1.
    public init(contact id: String, number: Int = 1) throws(AvatarStoreError) {
        try Self.check(id, is: "A contact id")
        guard number >= 1 else {
            throw AvatarStoreError(.invalidKey, "A contact's photo number must be at least 1, not \(number).")
        }
        let needsNumber = number > 1 || Self.splitNumber(id) != nil
        rawValue = Self.contactPrefix + id + (needsNumber ? "#\(number)" : "")
    }

    /// The key `email:URL` of the image that a source such as Gravatar has for an e-mail address.
    ///
    /// These images have their own kind of key because the URL contains a digest of the address: the store removes the
    /// entry with the last contact that has the address, and no message shows the path.
    ///
    /// - Throws: `unsupportedURL`, as `init(url:)`.
    package init(emailImageAt url: String) throws(AvatarStoreError) {
        rawValue = Self.emailPrefix + (try URLNormalization.normalized(url))
    }

    /// A custom key, for an image whose URL changes with each signature.
    ///
    /// - Throws: `invalidKey` unless `custom` has 1 to 1,024 bytes of UTF-8 without control characters, and looks like
    ///   neither `name:…`, `contact:…`, `email:http…` nor an http or https URL.
    public init(custom: String) throws(AvatarStoreError) {
        try Self.check(custom, is: "A custom key")
        guard !custom.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw AvatarStoreError(.invalidKey, "A custom key must not contain control characters.")
        }
        guard !Self.looksLikeURL(custom), !Self.looksOwn(custom), Self.emailURL(in: custom) == nil else {
            let message =
                "A custom key must not be a URL, nor begin with \"name:\", \"contact:\" or \"email:http\"."
            throw AvatarStoreError(.invalidKey, message)
        }
        rawValue = custom
    }

    /// Reads a key as a user writes it: a URL in any spelling, `name:NAME`, `contact:ID`, `contact:ID#2`, `email:URL`,
    /// or else a custom key.
    ///
    /// - Throws: `unsupportedURL` or `invalidKey`, as the initialiser for that kind of key.
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

    /// A key read from the index, taken unchecked because it was checked before it was stored.
    package init(stored: String) {
        rawValue = stored
    }

    // MARK: Properties

    /// Whether this is an own image (`name:…` or `contact:…`), which has no URL and is never fetched.
    public var isOwnImage: Bool { Self.looksOwn(rawValue) }

    /// Whether this is an image that the caller saved under a name (`name:…`). A sync does not unlink it from contacts.
    package var isSaved: Bool { rawValue.utf8.starts(with: Self.namePrefix.utf8) }

    /// The contact of `init(savedForContact:)`; `nil` for all other keys.
    package var contactOfSavedImage: String? { Self.rest(of: rawValue, after: Self.savedForContactPrefix) }

    /// Whether this is a photo embedded in a contact (`contact:…`).
    public var isContactPhoto: Bool { rawValue.utf8.starts(with: Self.contactPrefix.utf8) }

    /// Whether this is the image for an e-mail address (`email:https://…`).
    package var isEmailImage: Bool { Self.emailURL(in: rawValue) != nil }

    /// Whether this is an http or https URL. A custom key and `email:…` are not.
    public var isURL: Bool { rawValue.hasPrefix("https://") || rawValue.hasPrefix("http://") }

    /// The host and port of a URL key; `nil` for the other kinds.
    public var host: HostName? { isURL ? HostName(ofNormalizedURL: rawValue) : nil }

    /// The URL to fetch, if the key contains it; `nil` for own images and custom keys.
    package var url: String? { isURL ? rawValue : Self.emailURL(in: rawValue) }

    /// The key for messages and logs: a URL without its query, cut to 200 characters. Of an image for an e-mail
    /// address, only the host is shown.
    package var redacted: String {
        if let url = Self.emailURL(in: rawValue) {
            return "\(Self.emailPrefix)\(url.split(separator: "/").prefix(2).joined(separator: "//"))/…"
        }
        return isURL || rawValue.contains("://") ? Self.redact(rawValue) : rawValue
    }

    /// The key for messages and logs, without secrets: a URL without its query, cut to 200 characters. Of an image for an
    /// e-mail address, only the host is shown.
    public var description: String { redacted }

    /// Whether two keys have the same bytes. Swift compares strings by canonical equivalence, but the index and origins
    /// compare bytes.
    public static func == (left: AvatarKey, right: AvatarKey) -> Bool {
        left.rawValue.withBytes { left in
            right.rawValue.withBytes { right in
                guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
                    return left.isEmpty && right.isEmpty
                }
                return memcmp(first, second, left.count) == 0
            }
        }
    }

    /// Hashes the bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        rawValue.withBytes { hasher.combine(bytes: $0) }
    }
}

extension String {
    /// Calls `body` with the bytes of the text. Unlike `withUTF8` it needs no copy of the text in a variable.
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(utf8).withUnsafeBytes(body)
    }
}

// MARK: - The kinds

extension AvatarKey {
    private static let namePrefix = "name:"
    private static let savedForContactPrefix = "name:contact/"
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

    /// The text after `prefix`. Compares bytes, because a combining character may follow the colon.
    private static func rest(of text: String, after prefix: String) -> String? {
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        return String(Substring(text.utf8.dropFirst(prefix.utf8.count)))
    }

    /// Whether `text` begins with `http:` or `https:`, in any case and after any white space.
    private static func looksLikeURL(_ text: String) -> Bool {
        let bytes = text.utf8.drop(while: URLNormalization.isWhiteSpace)
        let scheme = bytes.prefix(6).prefix { $0 != UInt8(ascii: ":") }
        guard scheme.count == 4 || scheme.count == 5, bytes.count > scheme.count else { return false }
        return "https".utf8.starts(with: scheme.lazy.map(URLNormalization.lowercased))
    }

    private static func check(
        _ text: String,
        is what: String,
        limit: Int = maximumNameBytes
    ) throws(AvatarStoreError) {
        let count = text.utf8.count
        guard (1...limit).contains(count) else {
            let message = "\(what) must have 1 to \(limit) bytes of UTF-8, not \(count)."
            throw AvatarStoreError(.invalidKey, message)
        }
        guard !text.utf8.contains(0) else {
            throw AvatarStoreError(.invalidKey, "\(what) must not contain a NUL byte.")
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
