internal import AvatarCore

/// Cuts a list of vCards into its cards, and what stands between them into one unreadable record each.
///
/// A card inside a card (`AGENT`) is passed over. Where a card begins before the one before it has ended, that one is
/// unreadable; a list that ends within a card is cut short.
struct VCardSplitter: RecordSplitter {
    private var parts: CardPartReader
    private let limits: CardLimits
    private var hasCard = false

    /// Cuts what lies behind `cursor`. `includesLogos` if the logos of cards matter too.
    init(cursor: ListCursor, includesLogos: Bool, limits: CardLimits = CardLimits()) {
        var wanted: Set<PropertyHead.Kind> = [
            .version, .uid, .formattedName, .name, .nickname, .organization, .email, .telephone, .photo, .agent,
        ]
        if includesLogos { wanted.insert(.logo) }
        parts = CardPartReader(cursor: cursor, wanted: wanted, limit: limits.bytes)
        self.limits = limits
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        var noise: Int?
        while let part = try parts.next() {
            switch part {
            case .begin(let line):
                hasCard = true
                guard let noise else { return try card(from: line.number) }
                parts.putBack(line)
                return Self.outsideOfCard(noise)
            case .end(let line), .noise(let line), .endlessHead(let line):
                noise = noise ?? line
            case .property(let property):
                noise = noise ?? property.line
            }
        }
        guard let noise else { return nil }
        guard hasCard else {
            throw parts.fault("this is no list of vCards: BEGIN:VCARD was expected", line: noise)
        }
        return Self.outsideOfCard(noise)
    }

    private static func outsideOfCard(_ line: Int) -> RawRecord {
        .unreadable(line: line, reason: "there is text outside of a card; BEGIN:VCARD was expected")
    }

    /// Reads the card that began in `line`, up to its end.
    private mutating func card(from line: Int) throws(AvatarStoreError) -> RawRecord {
        var card = RawCard(line: line, limits: limits)
        let start = parts.bytesRead
        // How many cards are open: this one and those inside it.
        var depth = 1
        var isBeforeInnerCard = false
        while let part = try parts.next() {
            if parts.bytesRead - start > limits.bytes { card.refuse(tooLarge(part)) }
            switch part {
            case .begin(let inner) where !isBeforeInnerCard:
                parts.putBack(inner)
                let reason = "the card does not end before the next one begins in line \(inner.number)"
                return .unreadable(line: line, reason: reason)
            case .begin:
                depth += 1
            case .end:
                depth -= 1
                guard depth > 0 else { return card.fault.map { .unreadable(line: line, reason: $0) } ?? .card(card) }
            case .property(let property):
                card.add(property, isOwn: depth == 1)
                if property.innerCard == .begins { depth += 1 }
            case .endlessHead(let line):
                let limit = ByteSize.text(HeadScanner.maximumBytes)
                card.refuse("the name and parameters in line \(line) are longer than \(limit)")
            case .noise:
                break
            }
            isBeforeInnerCard = part.isBeforeInnerCard
        }
        throw parts.fault("the list is cut short: END:VCARD was expected for the card that begins in line \(line)")
    }

    private func tooLarge(_ part: CardPart) -> String {
        "the card is larger than \(ByteSize.text(limits.bytes)) (line \(part.line))"
    }
}

extension CardPart {
    fileprivate var isBeforeInnerCard: Bool {
        guard case .property(let property) = self else { return false }
        return property.innerCard == .mayFollow
    }

    fileprivate var line: Int {
        switch self {
        case .begin(let line): line.number
        case .end(let line), .noise(let line), .endlessHead(let line): line
        case .property(let property): property.line
        }
    }
}
