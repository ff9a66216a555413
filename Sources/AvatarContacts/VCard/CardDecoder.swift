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
    var record: ContactRecord {
        do {
            let images = CardImages(of: card, text: text).images
            return .contact(Contact(id: try id(images), name: try name, emails: try emails, images: images))
        } catch {
            return .unreadable(line: card.line, reason: error.reason)
        }
    }

    private func id(_ images: [ContactImage]) throws(RecordFault) -> String {
        for property in card.properties(.uid) {
            let id = try text.text(of: property)
            if !id.isEmpty { return try ContactID.checked(id, called: "`UID`") }
        }
        return try derivedID(images)
    }

    /// The name for display, else the parts of the name, the nickname, or the organization.
    private var name: String? {
        get throws(RecordFault) {
            for property in card.properties(.formattedName) {
                let name = try text.text(of: property)
                if !name.isEmpty { return name }
            }
            for property in card.properties(.name) {
                // Family, given, additional, before, behind.
                let parts = try text.components(of: property)
                let name = Self.joined([3, 1, 2, 0, 4].compactMap { $0 < parts.count ? parts[$0] : nil })
                if !name.isEmpty { return name }
            }
            for property in card.properties(.nickname) + card.properties(.organization) {
                let name = Self.joined(try text.components(of: property))
                if !name.isEmpty { return name }
            }
            return nil
        }
    }

    private var emails: [String] {
        get throws(RecordFault) {
            var emails: [String] = []
            for property in card.properties(.email) {
                let address = Self.address(try text.text(of: property))
                // 2.1 knows addresses of other networks too.
                if address.contains("@") { emails.append(address) }
            }
            return emails.uniqueTexts
        }
    }

    /// An id for a card that has none: a digest of what says whose card it is.
    private func derivedID(_ images: [ContactImage]) throws(RecordFault) -> String {
        var identity = CardIdentity()
        for kind in [PropertyHead.Kind.formattedName, .name, .nickname, .organization, .email, .telephone] {
            var values: [String] = []
            for property in card.properties(kind) { values.append(Self.joined(try text.components(of: property))) }
            identity.add(values, of: kind)
        }
        guard let id = identity.id ?? CardIdentity(of: images).id else {
            throw RecordFault(reason: "the card has no `UID`, and no name, address, number or photo to tell it by")
        }
        return id
    }

    private static func joined(_ parts: [String]) -> String {
        parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func address(_ text: String) -> String {
        text.lowercased().hasPrefix("mailto:") ? String(text.dropFirst("mailto:".count)) : text
    }
}
