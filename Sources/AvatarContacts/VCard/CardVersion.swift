/// The version of a card, as far as its values are written differently.
enum CardVersion {
    /// 2.1, by the versit consortium.
    case v2
    /// 3.0, RFC 2426; also a card that does not say.
    case v3
    /// 4.0, RFC 6350, and whatever may come after it.
    case v4

    /// The version that a card calls `text`.
    init(_ text: ArraySlice<UInt8>) {
        switch text.trimmed.first {
        case UInt8(ascii: "1"), UInt8(ascii: "2"): self = .v2
        case UInt8(ascii: "3"), nil: self = .v3
        default: self = .v4
        }
    }
}
