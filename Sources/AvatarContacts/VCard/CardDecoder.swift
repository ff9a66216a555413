internal import AvatarCore
internal import Crypto
internal import Foundation

/// Decodes a card into a contact.
///
/// Only a fault that leaves the contact without a reliable id makes a card unreadable. Any other property that cannot be
/// decoded is left out, except an image, which is kept as unreadable.
struct CardDecoder {
    private let card: RawCard
    /// Decodes values by the rules of the card's version.
    private let text: CardText

    /// Creates a decoder for one card.
    init(_ card: RawCard) {
        self.card = card
        let version = card.properties.first { $0.head.kind == .version }?.value ?? []
        text = CardText(version: CardVersion(version[...]))
    }

    /// Returns the contact of the card, or the reason why the card is unreadable.
    ///
    /// - Parameter namesakes: The cards without `UID` before this one. This card is added if it has no `UID` either.
    func record(among namesakes: inout CardNamesakes) -> ContactRecord {
        do throws(RecordFault) {
            let images = CardImages(of: card, text: text).images
            let id = if let uid = try uid { uid } else { namesakes.add(try derivedID(images)) }
            return Contact(id: id, name: name, emails: emails, images: images).record(in: card.line)
        } catch {
            return .unreadable(line: card.line, reason: error.reason)
        }
    }

    /// The first `UID` that is not empty; `nil` if the card has none.
    ///
    /// An unreadable `UID` makes the card unreadable, because a derived id would make it a different contact.
    private var uid: String? {
        get throws(RecordFault) {
            for property in card.properties(.uid) {
                let id = try text.text(of: property)
                if !id.isEmpty { return try ContactID.checked(id, called: "`UID`") }
            }
            return nil
        }
    }

    /// The display name: `FN`, else the parts of `N`, else `NICKNAME`, else `ORG`; `nil` if all are empty or unreadable.
    private var name: String? {
        for property in card.properties(.formattedName) {
            if let name = readable(property), !name.isEmpty { return name }
        }
        for property in card.properties(.name) {
            // The order in `N` is family name, given name, additional names, prefixes, suffixes.
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

    /// The e-mail addresses, the preferred one first, without duplicates.
    private var emails: [String] {
        let addresses = card.properties(.email).compactMap { readable($0).map(Self.address) }
        // Version 2.1 also has addresses of other networks, such as X.400.
        return addresses.filter { $0.contains("@") }.uniqueTexts
    }

    /// Computes the identity from which a card without `UID` gets its id.
    ///
    /// Unreadable properties are left out. If no other property is left, the first image decides.
    ///
    /// - Throws: `RecordFault` if the card has nothing to derive an id from.
    private func derivedID(_ images: [ContactImage]) throws(RecordFault) -> CardIdentity.Digest {
        var identity = CardIdentity()
        for kind in [PropertyHead.Kind.formattedName, .name, .nickname, .organization, .email, .telephone] {
            identity.add(card.properties(kind).compactMap { readableComponents(of: $0).map(Self.joined) }, of: kind)
        }
        guard let digest = identity.digest ?? CardIdentity(of: images).digest else {
            throw RecordFault(
                reason:
                    "the card has no `UID`, and no name, address, phone number or photo to derive an id from; add a `UID`"
            )
        }
        return digest
    }

    /// The text of `property`; `nil` if it cannot be decoded.
    ///
    /// One invalid byte in a name must not cost the contact its photo.
    private func readable(_ property: CardProperty) -> String? {
        do {
            return try text.text(of: property)
        } catch {
            return nil
        }
    }

    /// The parts of a structured value such as `N`; `nil` if it cannot be decoded.
    private func readableComponents(of property: CardProperty) -> [String]? {
        do {
            return try text.components(of: property)
        } catch {
            return nil
        }
    }

    /// Joins parts by spaces, without the empty ones.
    private static func joined(_ parts: [String]) -> String {
        parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Returns the address without the scheme `mailto:`.
    private static func address(_ text: String) -> String {
        text.lowercased().hasPrefix("mailto:") ? String(text.dropFirst("mailto:".count)) : text
    }
}

/// The identity of a card without `UID`: a hash of its names, organization, e-mail addresses and telephone numbers.
///
/// Other properties do not count, nor does the folding, encoding or order of the card, so a contact with a new picture
/// keeps its id. A contact whose name, address or number changes gets a new id. Cards with the same identity are told
/// apart by their order (`CardNamesakes`).
///
/// Stored ids depend on this hash, so no later version may compute it differently.
private struct CardIdentity {
    /// The first 128 bits of a SHA-256 hash.
    struct Digest: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private var hash = SHA256()
    /// Whether nothing has been added yet.
    private var isEmpty = true

    /// Creates an identity without any values.
    init() {}

    /// Creates the identity of a card that has no usable property but its images. Only the first image counts.
    init(of images: [ContactImage]) {
        for case .url(let url) in images.prefix(1) { add(Array(url.utf8)) }
        for case .photo(let photo) in images.prefix(1) { add(photo.bytes) }
    }

    /// Adds the values of all properties of one kind. Their order, duplicates and empty values do not count.
    ///
    /// - Parameters:
    ///   - values: The decoded values.
    ///   - kind: The kind, which is part of the hash, so that a nickname differs from the same text as a name.
    mutating func add(_ values: [String], of kind: PropertyHead.Kind) {
        let plain = Set(values.map { Self.plain($0, kind) }.filter { !$0.isEmpty }).sorted()
        guard !plain.isEmpty else { return }
        add(Array(kind.rawValue.utf8))
        for value in plain { add(Array(value.utf8)) }
    }

    /// The hash of the values added; `nil` if nothing was added.
    var digest: Digest? {
        guard !isEmpty else { return nil }
        let bytes = Array(hash.finalize())
        let word = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return Digest(high: word(bytes[..<8]), low: word(bytes[8..<16]))
    }

    /// Hashes a value after its length, so that no two lists of values hash the same bytes.
    private mutating func add(_ bytes: [UInt8]) {
        isEmpty = false
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: bytes)
    }

    /// Removes the differences in spelling between programs: Unicode normalization, schemes, case and punctuation.
    private static func plain(_ value: String, _ kind: PropertyHead.Kind) -> String {
        let value = value.precomposedStringWithCanonicalMapping
        switch kind {
        case .email:
            return value.lowercased().replacing(/^mailto:/, with: "")
        case .telephone:
            // A `tel:` URI may end in parameters. Their letters and digits stay in: removing them would change stored ids.
            return value.lowercased().replacing(/^tel:/, with: "").filter { $0.isLetter || $0.isNumber || $0 == "+" }
        default:
            return value
        }
    }
}

/// Assigns ids to the cards without `UID`, so that no two of them become one contact.
///
/// The counts are kept for the whole read, across lists that are read as one.
struct CardNamesakes {
    /// The number of cards so far with each identity.
    private var counts: [CardIdentity.Digest: Int] = [:]

    /// Returns the id of the next card with the identity `digest`: `card-` and 32 hexadecimal digits.
    ///
    /// From the second card with the same identity on, `-2`, `-3` and so on follow. The same list gives the same ids.
    fileprivate mutating func add(_ digest: CardIdentity.Digest) -> String {
        let number = counts[digest, default: 0] + 1
        counts[digest] = number
        let bytes = [digest.high, digest.low].flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
        return "card-" + Hexadecimal.text(bytes) + (number > 1 ? "-\(number)" : "")
    }
}
