/// A contradiction between a store and what it promised.
struct Finding: Hashable, CustomStringConvertible {
    enum Kind: String, CaseIterable {
        /// The result of a call that had returned is missing.
        case lost
        /// Bytes, digests, totals or results are wrong.
        case wrong
        /// An item exists that nothing needs or lists.
        case orphan
        /// The files in `caches` had more bytes than the budget.
        case breach
    }

    let kind: Kind
    let text: String

    init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    var description: String { "\(kind.rawValue): \(text)" }
}
