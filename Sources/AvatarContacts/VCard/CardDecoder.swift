internal import AvatarCore
internal import Crypto
internal import Foundation

/// Makes a contact of a card.
struct CardDecoder {
    private let card: RawCard
    private let text: CardText

    init(_ card: RawCard) {
        self.card = card
        let version = card.properties.first { $0.head.kind == .version }?.value ?? []
        text = CardText(version: CardVersion(version[...]))
    }

    /// The person that the card describes, or why it describes none.
    ///
    /// - Parameter namesakes: The cards without `UID` before this one, to which this one is added if it has none.
    func record(among namesakes: inout CardNamesakes) -> ContactRecord {
        do throws(RecordFault) {
            let images = CardImages(of: card, text: text).images
            let id = if let uid = try uid { uid } else { namesakes.add(try derivedID(images)) }
            return Contact(id: id, name: name, emails: emails, images: images).record(in: card.line)
        } catch {
            return .unreadable(line: card.line, reason: error.reason)
        }
    }

    /// A `UID` that cannot be read is a fault of the card: by another id its person would be another one.
    private var uid: String? {
        get throws(RecordFault) {
            for property in card.properties(.uid) {
                let id = try text.text(of: property)
                if !id.isEmpty { return try ContactID.checked(id, called: "`UID`") }
            }
            return nil
        }
    }

    /// The name for display, else the parts of the name, the nickname, or the organization.
    private var name: String? {
        for property in card.properties(.formattedName) {
            if let name = readable(property), !name.isEmpty { return name }
        }
        for property in card.properties(.name) {
            // Family, given, additional, before, behind.
            let parts = readableComponents(of: property) ?? []
            let name = Self.joined([3, 1, 2, 0, 4].compactMap { $0 < parts.count ? parts[$0] : nil })
            if !name.isEmpty { return name }
        }
        for property in card.properties(.nickname) + card.properties(.organization) {
            let name = Self.joined(readableComponents(of: property) ?? [])
            if !name.isEmpty { return name }
        }
        return nil
    }

    private var emails: [String] {
        let addresses = card.properties(.email).compactMap { readable($0).map(Self.address) }
        // 2.1 knows addresses of other networks too.
        return addresses.filter { $0.contains("@") }.uniqueTexts
    }

    /// An id for a card that has none: a digest of what says whose card it is, as far as that can be read.
    private func derivedID(_ images: [ContactImage]) throws(RecordFault) -> CardIdentity.Digest {
        var identity = CardIdentity()
        for kind in [PropertyHead.Kind.formattedName, .name, .nickname, .organization, .email, .telephone] {
            identity.add(card.properties(kind).compactMap { readableComponents(of: $0).map(Self.joined) }, of: kind)
        }
        guard let digest = identity.digest ?? CardIdentity(of: images).digest else {
            throw RecordFault(reason: "the card has no `UID`, and no name, address, number or photo to tell it by")
        }
        return digest
    }

    /// The text of `property`; `nil` if it is not in its charset: one bad byte in a name must not cost the person the photo.
    private func readable(_ property: CardProperty) -> String? {
        do {
            return try text.text(of: property)
        } catch {
            return nil
        }
    }

    /// The parts of `property`; `nil` as for `readable`.
    private func readableComponents(of property: CardProperty) -> [String]? {
        do {
            return try text.components(of: property)
        } catch {
            return nil
        }
    }

    private static func joined(_ parts: [String]) -> String {
        parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func address(_ text: String) -> String {
        text.lowercased().hasPrefix("mailto:") ? String(text.dropFirst("mailto:".count)) : text
    }
}

/// What a card without `UID` is told by: its names, organization, e-mail addresses and telephone numbers.
///
/// Neither the photo nor the time of the last change nor a note counts, nor how the card is folded, encoded or ordered:
/// the same person with a new picture keeps the id. A person whose name, address or number changes becomes another one.
/// Cards that agree in all of these are told apart by their order (`CardNamesakes`).
private struct CardIdentity {
    /// 128 bits of a SHA-256.
    struct Digest: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private var hash = SHA256()
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

    /// The digest of what was added; `nil` if nothing was.
    var digest: Digest? {
        guard !isEmpty else { return nil }
        let bytes = Array(hash.finalize())
        let word = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return Digest(high: word(bytes[..<8]), low: word(bytes[8..<16]))
    }

    /// Each value with its length in front, so that no two lists of values look the same.
    private mutating func add(_ bytes: [UInt8]) {
        isEmpty = false
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: bytes)
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

/// The cards without `UID` that were read so far: no two of them are one contact.
struct CardNamesakes {
    private var counts: [CardIdentity.Digest: Int] = [:]

    /// The id of the next card whose identity is `digest`: `card-` and 32 hexadecimal digits, and from the second card with that
    /// identity on `-2`, `-3` and so on. The same list gives the same ids.
    fileprivate mutating func add(_ digest: CardIdentity.Digest) -> String {
        let number = counts[digest, default: 0] + 1
        counts[digest] = number
        let bytes = [digest.high, digest.low].flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
        return "card-" + Hexadecimal.text(bytes) + (number > 1 ? "-\(number)" : "")
    }
}
