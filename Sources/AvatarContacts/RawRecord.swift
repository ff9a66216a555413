internal import AvatarCore

/// One record as it was cut out of a list, not yet looked into.
enum RawRecord {
    /// JSON text that should be an object, starting in `line`.
    case json(ArraySlice<UInt8>, line: Int)
    /// A URL, which is all of `line`.
    case url(String, line: Int)
    /// A vCard.
    case card(RawCard)
    /// A record that could not even be cut out whole.
    case unreadable(line: Int, reason: String)

    /// The longest JSON text of one record.
    static let maximumBytes = 1_048_576

    /// A JSON record that is longer than the limit.
    static func tooLarge(line: Int) -> RawRecord {
        .unreadable(line: line, reason: "the record is larger than \(ByteSize.text(maximumBytes))")
    }
}
