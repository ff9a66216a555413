/// A card as it was cut out of a list, its values not decoded.
struct RawCard {
    /// The line in which the card begins.
    let line: Int
    private(set) var properties: [CardProperty] = []
    private var propertyCount = 0
    private var photoCount = 0
    /// Why the card is not kept.
    private(set) var fault: String?

    private let limits: CardLimits

    /// A card that begins in `line`.
    init(line: Int, limits: CardLimits) {
        self.line = line
        self.limits = limits
    }

    /// Adds a property, unless the card is beyond its limits; `isOwn` if it is not one of a card inside this one.
    mutating func add(_ property: CardProperty, isOwn: Bool) {
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
    mutating func refuse(_ reason: String) {
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
