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

/// A card as it was cut out of a list, its values not decoded.
struct RawCard {
    /// The line in which the card begins.
    let line: Int
    private(set) var properties: [CardProperty] = []
    private var propertyCount = 0
    private var photoCount = 0
    /// Why the card is not kept.
    fileprivate private(set) var fault: String?

    private let limits: CardLimits

    /// A card that begins in `line`.
    fileprivate init(line: Int, limits: CardLimits) {
        self.line = line
        self.limits = limits
    }

    /// Adds a property, unless the card is beyond its limits; `isOwn` if it is not one of a card inside this one.
    fileprivate mutating func add(_ property: CardProperty, isOwn: Bool) {
        propertyCount += 1
        if propertyCount > limits.properties {
            refuse("the card has more than \(limits.properties) properties (line \(property.line))")
        }
        guard isOwn, fault == nil, let kind = property.head.kind, kind != .agent else { return }
        if kind == .photo || kind == .logo { photoCount += 1 }
        if photoCount > limits.photos {
            refuse("the card has more than \(limits.photos) photos (line \(property.line))")
        } else if !property.value.isEmpty {
            properties.append(property)
        }
    }

    /// Gives the card up because of `reason`, unless that was done before.
    fileprivate mutating func refuse(_ reason: String) {
        guard fault == nil else { return }
        fault = reason
        properties = []
    }

    /// The properties of one kind, the preferred ones first, else in the order of the card.
    func properties(_ kind: PropertyHead.Kind) -> [CardProperty] {
        let all = properties.filter { $0.head.kind == kind }
        guard all.count > 1 else { return all }
        // Sorting keeps the order of equals since Swift 5, but does not promise it.
        return all.enumerated()
            .sorted { ($0.element.head.parameters.order, $0.offset) < ($1.element.head.parameters.order, $1.offset) }
            .map(\.element)
    }
}

/// How much of a card is read before it is given up.
struct CardLimits {
    /// The most bytes of one card. A photo of 21 MB in base64 fits.
    var bytes = 33_554_432
    /// The most properties of one card, those of cards inside it counted.
    var properties = 100_000
    /// The most photos of one card.
    var photos = 100
}
