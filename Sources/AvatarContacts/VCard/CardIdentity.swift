internal import AvatarCore
internal import Crypto
internal import Foundation

/// What a card without `UID` is told by: its names, organization, e-mail addresses and telephone numbers.
///
/// Neither the photo nor the time of the last change nor a note counts, nor how the card is folded, encoded or ordered:
/// the same person with a new picture keeps the id. Who changes name, address or number becomes another person, and two
/// cards that agree in all of these are one person.
struct CardIdentity {
    private var digest = SHA256()
    private var isEmpty = true

    /// Nothing yet.
    init() {}

    /// The identity of a card of which nothing but `images` is known.
    init(of images: [ContactImage]) {
        for case .url(let url) in images.prefix(1) { add(Array(url.utf8)) }
        for case .photo(let photo) in images.prefix(1) { add(photo.bytes) }
    }

    /// Adds the values of all properties of one kind.
    mutating func add(_ values: [String], of kind: PropertyHead.Kind) {
        let plain = Set(values.map { Self.plain($0, kind) }.filter { !$0.isEmpty }).sorted()
        guard !plain.isEmpty else { return }
        add(Array(kind.rawValue.utf8))
        for value in plain { add(Array(value.utf8)) }
    }

    /// The id: `card-` and 128 bits of a SHA-256 as hexadecimal digits; `nil` if nothing was added.
    var id: String? {
        guard !isEmpty else { return nil }
        return "card-" + Hexadecimal.text(digest.finalize().prefix(16))
    }

    /// Each value with its length in front, so that no two lists of values look the same.
    private mutating func add(_ bytes: [UInt8]) {
        isEmpty = false
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { digest.update(bufferPointer: $0) }
        digest.update(data: bytes)
    }

    /// `value` without what programs write in different ways.
    private static func plain(_ value: String, _ kind: PropertyHead.Kind) -> String {
        let value = value.precomposedStringWithCanonicalMapping
        switch kind {
        case .email:
            return value.lowercased().replacing(/^mailto:/, with: "")
        case .telephone:
            // The last word of a `tel:` URI may be a parameter; the digits before it are the number.
            return value.lowercased().replacing(/^tel:/, with: "").filter { $0.isLetter || $0.isNumber || $0 == "+" }
        default:
            return value
        }
    }
}
