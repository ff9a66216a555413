/// A placeholder for a contact without an image: initials on a colour derived from the contact's id. The same contact
/// has the same placeholder on every machine.
///
/// It is a separate type and not an `AvatarImage`, so it is never mistaken for an image, and the store never keeps
/// one.
public struct AvatarPlaceholder: Hashable, Sendable {
    /// The letters. If they are empty, for a contact without a name, a silhouette is drawn.
    public let initials: Initials
    /// The background colour.
    public let colour: PlaceholderColour

    /// The placeholder of a contact.
    ///
    /// - Parameters:
    ///   - id: the contact's stable id, which selects the colour.
    ///   - name: the contact's name, which gives the initials.
    public init(id: String, name: String?) {
        initials = Initials(of: name ?? "")
        colour = PlaceholderColour(of: id)
    }

    /// The media type of `svg(side:)`.
    public static let mediaType = "image/svg+xml"

    /// The placeholder as an SVG image that scales to any size. It references no font file and no other resource.
    ///
    /// - Parameter side: the stated width and height in pixels. Default: 128.
    public func svg(side: Int = 128) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="\(side)" height="\(side)" viewBox="0 0 128 128" \
        data-placeholder="true"><rect width="128" height="128" fill="\(colour.text)"/>\(foreground)</svg>

        """
    }

    /// The initials or the silhouette.
    private var foreground: String {
        guard !initials.text.isEmpty else {
            return """
                <circle cx="64" cy="50" r="24" fill="#fff"/>\
                <path d="M16 128a48 44 0 0 1 96 0z" fill="#fff"/>
                """
        }
        let direction = initials.isRightToLeft ? " direction=\"rtl\"" : ""
        return """
            <text x="64" y="64" dy="0.35em" text-anchor="middle"\(direction) fill="#fff" font-size="56" \
            font-family="sans-serif">\(Self.escaped(initials.text))</text>
            """
    }

    /// Escapes `text` for XML. Letters, digits and their marks need no escape today; a later Unicode version may
    /// differ.
    private static func escaped(_ text: String) -> String {
        text.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            default: String(character)
            }
        }.joined()
    }
}

/// The initials of a contact, by the rules of the script of the name.
public struct Initials: Hashable, Sendable {
    /// One or two grapheme clusters; empty if the name has no letter and no digit.
    public let text: String
    /// Whether the script of the initials is written from right to left.
    public let isRightToLeft: Bool

    /// The initials of `name`: the first character of the first word and that of the last one, in upper case where the
    /// script has cases.
    ///
    /// A character is a grapheme cluster, so it includes its marks and joined letters. A name in Chinese, Japanese or
    /// Korean gives only its first character, because the family name comes first, often without a space.
    public init(of name: String) {
        let firsts = name.split(whereSeparator: \.isWhitespace).compactMap { word in
            word.first { $0.isLetter || $0.isNumber }
        }
        guard let first = firsts.first else {
            text = ""
            isRightToLeft = false
            return
        }
        isRightToLeft = first.isRightToLeft
        let last = firsts.count > 1 && !first.isIdeographic ? firsts.last : nil
        let letters = [first, last].compactMap { $0?.asInitial }
        // A zero-width non-joiner keeps Arabic letters from joining into a word.
        text = letters.joined(separator: isRightToLeft ? Self.nonJoiner : "")
    }

    private static let nonJoiner = "\u{200C}"
}

extension Character {
    /// The character in upper case, unless that is more than one character: "ß" would become "SS".
    fileprivate var asInitial: String {
        let upper = uppercased()
        return upper.count == 1 ? upper : String(self)
    }

    /// Whether the script of the character is written from right to left: the blocks of Hebrew, Arabic, Syriac,
    /// Thaana, N'Ko and their neighbours, and those in the supplementary planes (Unicode Standard Annex #9, table 4).
    fileprivate var isRightToLeft: Bool {
        guard let value = unicodeScalars.first?.value else { return false }
        return (0x0590...0x08FF).contains(value) || (0xFB1D...0xFDFF).contains(value)
            || (0xFE70...0xFEFF).contains(value) || (0x10800...0x10FFF).contains(value)
            || (0x1E800...0x1EFFF).contains(value)
    }

    /// Whether the character belongs to Chinese, Japanese or Korean writing.
    fileprivate var isIdeographic: Bool {
        guard let scalar = unicodeScalars.first else { return false }
        return scalar.properties.isIdeographic || (0x3040...0x30FF).contains(scalar.value)
            || (0xAC00...0xD7A3).contains(scalar.value) || (0x1100...0x11FF).contains(scalar.value)
    }
}

/// A background colour for white letters.
public struct PlaceholderColour: Hashable, Sendable {
    /// The red component in sRGB, 0 to 255.
    public let red: UInt8
    /// The green component in sRGB, 0 to 255.
    public let green: UInt8
    /// The blue component in sRGB, 0 to 255.
    public let blue: UInt8

    /// The colour of the contact `id`. It is the same on every machine and in every version.
    public init(of id: String) {
        self = Self.palette[Int(Self.hash(id) % UInt64(Self.palette.count))]
    }

    private init(_ rgb: UInt32) {
        red = UInt8(truncatingIfNeeded: rgb >> 16)
        green = UInt8(truncatingIfNeeded: rgb >> 8)
        blue = UInt8(truncatingIfNeeded: rgb)
    }

    /// The colour in hexadecimal notation, for example `#1f6f8b`.
    public var text: String {
        "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Colours dark enough for white letters (contrast of at least 4.5). The palette must never change, because users
    /// remember the colours of their contacts.
    static let palette: [PlaceholderColour] = [
        0xB3261E, 0xA63A00, 0x8A5000, 0x6B5E00, 0x486800, 0x1F6E2E, 0x006C4C, 0x006A6A,
        0x00658B, 0x1A5FB4, 0x3D57C0, 0x5B4FC4, 0x7A42B8, 0x9A3591, 0xA8326A, 0x5C5F62,
    ].map(PlaceholderColour.init)

    /// FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Swift's own hash differs in each process.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
