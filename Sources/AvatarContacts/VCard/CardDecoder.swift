internal import AvatarCore

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
