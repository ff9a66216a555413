import AvatarCore
import AvatarProviders

/// A page of a listing, read from the answer to `ListObjectsV2`.
struct ListingPage {
    /// The maximum size of a page in bytes: 1,000 keys of 1,024 bytes, each encoded, with room for the other elements.
    static let maximumSize = 8 * 1_048_576

    /// The whole keys, decoded.
    private(set) var keys: [String] = []
    private(set) var isTruncated = false

    /// Reads a page; `nil` if the document is malformed or is not a listing.
    init?(_ body: [UInt8]) {
        var isListing = false
        var isEncoded = false
        var truncated: String?
        var keys: [String] = []
        do {
            try XMLScanner.scan(body) { path, text in
                switch path {
                case ["ListBucketResult"]: isListing = true
                case ["ListBucketResult", "IsTruncated"]: truncated = text
                case ["ListBucketResult", "EncodingType"]: isEncoded = text == "url"
                case ["ListBucketResult", "Contents", "Key"]: keys.append(text)
                default: break
                }
            }
        } catch {
            return nil
        }
        guard isListing, truncated == "true" || truncated == "false" else { return nil }
        isTruncated = truncated == "true"
        // The element that tells of the encoding may follow the keys.
        let decoded = isEncoded ? keys.compactMap(URIEncoding.decode) : keys
        guard decoded.count == keys.count else { return nil }
        self.keys = decoded
    }

    /// The page without the prefix of the tier; `nil` if the keys are out of order, outside of the listing, or missing although
    /// more follow. Such a page would make its reader miss keys, or read the same ones for ever.
    func page(prefix: String, keyPrefix: String, after start: String?) -> SharedTierPage? {
        guard !keys.isEmpty || !isTruncated else { return nil }
        let whole = prefix + keyPrefix
        guard keys.allSatisfy({ $0.utf8.starts(with: whole.utf8) }) else { return nil }
        let run = (start.map { [prefix + $0] } ?? []) + keys
        // Engines on a file system list folder by folder.
        guard Self.isAscending(run, by: { $0 }) || Self.isAscending(run, by: { $0 == UInt8(ascii: "/") ? 0 : $0 })
        else {
            return nil
        }
        let bare = keys.map { String($0.unicodeScalars.dropFirst(prefix.unicodeScalars.count)) }
        return SharedTierPage(keys: bare, isTruncated: isTruncated)
    }

    /// Whether each key is before the next one, if bytes are compared by `rank`.
    private static func isAscending(_ keys: [String], by rank: (UInt8) -> UInt8) -> Bool {
        zip(keys, keys.dropFirst()).allSatisfy { left, right in
            left.utf8.lexicographicallyPrecedes(right.utf8) { rank($0) < rank($1) }
        }
    }
}
