/// Something that is not as it must be.
struct Finding: Hashable, CustomStringConvertible {
    enum Kind: String, CaseIterable {
        /// What a call had done before it returned is not there.
        case lost
        /// Bytes, digests, totals or results are not what they must be.
        case wrong
        /// Something is there that nobody needs or knows.
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
