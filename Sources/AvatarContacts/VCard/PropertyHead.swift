/// What stands before the value of a property: `group.NAME;parameter;parameter`.
struct PropertyHead {
    /// The properties that matter here. Their spelling is the raw value.
    enum Kind: String {
        case version = "VERSION"
        case uid = "UID"
        case formattedName = "FN"
        case name = "N"
        case nickname = "NICKNAME"
        case organization = "ORG"
        case email = "EMAIL"
        case telephone = "TEL"
        case photo = "PHOTO"
        case logo = "LOGO"
        case agent = "AGENT"
    }

    /// Which property it is; `nil` for one that does not matter here.
    let kind: Kind?
    let parameters: PropertyParameters

    /// The most bytes of a name that matters.
    private static let maximumNameBytes = 8

    /// Reads what stands before the colon.
    init(_ text: ArraySlice<UInt8>) {
        let nameEnd = text.firstIndex(of: .semicolon) ?? text.endIndex
        var name = text[..<nameEnd]
        // Groups tie properties together (`item1.PHOTO`), in 2.1 also several; none of them changes what this one is.
        if let dot = name.lastIndex(of: UInt8(ascii: ".")) { name = name[(dot + 1)...] }
        name = name.trimmed
        kind =
            name.count > Self.maximumNameBytes
            ? nil : Kind(rawValue: String(decoding: name.map(\.uppercased), as: UTF8.self))
        parameters = nameEnd == text.endIndex ? PropertyParameters() : PropertyParameters(text[(nameEnd + 1)...])
    }
}
