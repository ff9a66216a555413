/// A property of a card, cut out but not decoded.
struct CardProperty {
    /// The line in which it begins.
    let line: Int
    let head: PropertyHead
    /// The value as it stands in the list, with a line feed where a line ends; empty if nobody wants it.
    let value: [UInt8]

    /// Where a card inside this one is, which 2.1 allows for `AGENT`. (In 3.0 it is text within the value.)
    enum InnerCard {
        /// It may begin in the next line.
        case mayFollow
        /// It has begun: the value is its first line.
        case begins
    }

    /// Where the card is that this property holds; `nil` if it holds none.
    var innerCard: InnerCard? {
        guard head.kind == .agent else { return nil }
        let value = value.trimmed
        if value.isEmpty { return .mayFollow }
        return value.spells("BEGIN:VCARD") ? .begins : nil
    }

    /// The fault that the property has `problem`.
    func fault(_ problem: String) -> RecordFault {
        RecordFault(reason: "`\(head.kind?.rawValue ?? "")` in line \(line) \(problem)")
    }
}
