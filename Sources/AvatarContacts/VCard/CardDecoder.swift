internal import AvatarCore

extension RawCard: UndecodedRecord {
    func contact(after earlier: inout EarlierRecords) -> ContactRecord {
        CardDecoder(self).record(among: &earlier.namesakes)
    }
}

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
    func record(among namesakes: inout Namesakes) -> ContactRecord {
        do throws(RecordFault) {
            let images = CardImages(of: card, text: text).images
            let id = if let uid = try uid { uid } else { namesakes.id(of: try derivedID(images), prefix: "card-") }
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
    private func derivedID(_ images: [ContactImage]) throws(RecordFault) -> ContactIdentity.Digest {
        var identity = ContactIdentity()
        for kind in [PropertyHead.Kind.formattedName, .name, .nickname, .organization, .email, .telephone] {
            let values = card.properties(kind).compactMap { readableComponents(of: $0).map(Self.joined) }
            identity.add(values, of: kind.rawValue, spelledAs: kind.spelling)
        }
        guard let digest = identity.digest ?? ContactIdentity(of: images).digest else {
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

extension PropertyHead.Kind {
    /// The spelling of values of this kind, for the identity of a card.
    fileprivate var spelling: ContactIdentity.Spelling {
        switch self {
        case .email: .email
        case .telephone: .telephone
        default: .text
        }
    }
}
