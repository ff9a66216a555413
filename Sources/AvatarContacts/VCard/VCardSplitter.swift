internal import AvatarCore

/// Cuts a list of vCards into its cards. Text between two cards is one unreadable record.
///
/// A card inside a card (`AGENT`) is skipped. A card without an end is unreadable if another one begins; a list that ends
/// within a card is cut short.
struct VCardSplitter: RecordSplitter {
    private var parts: CardPartReader
    private let limits: CardLimits
    /// Whether a card has begun. A list with text but no card is in another format.
    private var hasCard = false

    /// Creates a splitter for a list.
    ///
    /// - Parameters:
    ///   - cursor: The beginning of the list.
    ///   - includesLogos: Whether the logos of cards are kept.
    ///   - limits: The limits for a card.
    init(cursor: ListCursor, includesLogos: Bool, limits: CardLimits = CardLimits()) {
        var wanted: Set<PropertyHead.Kind> = [
            .version, .uid, .formattedName, .name, .nickname, .organization, .email, .telephone, .photo, .agent,
        ]
        if includesLogos { wanted.insert(.logo) }
        parts = CardPartReader(cursor: cursor, wanted: wanted, limit: limits.bytes)
        self.limits = limits
    }

    mutating func next() throws(AvatarStoreError) -> RawRecord? {
        // The first line of text outside a card.
        var noise: Int?
        while let part = try parts.next() {
            switch part {
            case .begin(let line):
                hasCard = true
                guard let noise else { return try card(from: line.number) }
                parts.putBack(line)
                return Self.outsideOfCard(noise)
            case .end(let line), .noise(let line), .overlongHead(let line):
                noise = noise ?? line
            case .property(let property):
                noise = noise ?? property.line
            }
        }
        guard let noise else { return nil }
        guard hasCard else {
            throw parts.fault("this is not a list of vCards: expected BEGIN:VCARD", line: noise)
        }
        return Self.outsideOfCard(noise)
    }

    /// Makes the record for text outside a card that begins in `line`.
    private static func outsideOfCard(_ line: Int) -> RawRecord {
        .unreadable(line: line, reason: "found text outside a card; expected BEGIN:VCARD")
    }

    /// Reads the card that began in `line`, up to its end or the beginning of the next card.
    private mutating func card(from line: Int) throws(AvatarStoreError) -> RawRecord {
        var card = RawCard(line: line, limits: limits)
        let start = parts.bytesRead
        // The number of open cards: this one and those inside it.
        var depth = 1
        var isBeforeInnerCard = false
        while let part = try parts.next() {
            if parts.bytesRead - start > limits.bytes { card.refuse(tooLarge(part)) }
            switch part {
            case .begin(let inner) where !isBeforeInnerCard:
                parts.putBack(inner)
                let reason = "the card has no END:VCARD before the next card begins in line \(inner.number)"
                return .unreadable(line: line, reason: reason)
            case .begin:
                depth += 1
            case .end:
                depth -= 1
                guard depth > 0 else { return card.fault.map { .unreadable(line: line, reason: $0) } ?? .whole(card) }
            case .property(let property):
                card.add(property, isOwn: depth == 1)
                if property.innerCard == .begins { depth += 1 }
            case .overlongHead(let line):
                let limit = ByteSize.limit(HeadScanner.maximumBytes)
                card.refuse("the name and parameters in line \(line) are longer than the limit of \(limit)")
            case .noise:
                break
            }
            isBeforeInnerCard = part.isBeforeInnerCard
        }
        throw parts.fault("the list is cut short: the card that begins in line \(line) has no END:VCARD")
    }

    /// The reason for a card over the limit, with the line that exceeds it.
    private func tooLarge(_ part: CardPart) -> String {
        "the card is larger than the limit of \(ByteSize.limit(limits.bytes)) (line \(part.line))"
    }
}

extension CardPart {
    /// Whether the part is an `AGENT` whose card may begin in the next line.
    fileprivate var isBeforeInnerCard: Bool {
        guard case .property(let property) = self else { return false }
        return property.innerCard == .mayFollow
    }

    /// The line in which the part begins.
    fileprivate var line: Int {
        switch self {
        case .begin(let line): line.number
        case .end(let line), .noise(let line), .overlongHead(let line): line
        case .property(let property): property.line
        }
    }
}

/// A card cut out of a list, its values not yet decoded.
struct RawCard {
    /// The line in which the card begins, counted from 1.
    let line: Int
    /// The properties that are used, in the order of the card, without empty ones and those of inner cards.
    private(set) var properties: [CardProperty] = []
    /// The number of all properties so far, including those of inner cards.
    private var propertyCount = 0
    /// The number of photos and logos so far.
    private var photoCount = 0
    /// The reason why the card is unreadable; `nil` if it is not.
    fileprivate private(set) var fault: String?

    private let limits: CardLimits

    /// Creates an empty card that begins in `line`.
    fileprivate init(line: Int, limits: CardLimits) {
        self.line = line
        self.limits = limits
    }

    /// Adds a property, and refuses the card if that exceeds a limit.
    ///
    /// - Parameters:
    ///   - property: The property.
    ///   - isOwn: Whether it belongs to this card rather than to a card inside it. Others only count against the limit.
    fileprivate mutating func add(_ property: CardProperty, isOwn: Bool) {
        propertyCount += 1
        if propertyCount > limits.properties {
            refuse("the card has more properties than the limit of \(limits.properties) (line \(property.line))")
        }
        guard isOwn, fault == nil, let kind = property.head.kind, kind != .agent else { return }
        if kind == .photo || kind == .logo { photoCount += 1 }
        if photoCount > limits.photos {
            refuse("the card has more photos than the limit of \(limits.photos) (line \(property.line))")
        } else if !property.value.isEmpty {
            properties.append(property)
        }
    }

    /// Marks the card as unreadable and drops its properties. The first reason stays.
    fileprivate mutating func refuse(_ reason: String) {
        guard fault == nil else { return }
        fault = reason
        properties = []
    }

    /// The properties of one kind: the preferred ones first, equals in the order of the card.
    func properties(_ kind: PropertyHead.Kind) -> [CardProperty] {
        let all = properties.filter { $0.head.kind == kind }
        guard all.count > 1 else { return all }
        // Swift does not promise a stable sort, so the offset breaks ties.
        return all.enumerated()
            .sorted { ($0.element.head.parameters.order, $0.offset) < ($1.element.head.parameters.order, $1.offset) }
            .map(\.element)
    }
}

/// The limits for one card. A card over a limit is an unreadable record, and the cards after it are read.
struct CardLimits {
    /// The limit for the size of a card, in bytes. Default: 32 MiB, enough for a photo of 21 MB in base64.
    var bytes = 33_554_432
    /// The limit for the number of properties, including those of inner cards. Default: 100,000.
    var properties = 100_000
    /// The limit for the number of photos and logos together. Default: 100.
    var photos = 100
}
