/// What is shown of a person without a picture: initials on a colour derived from the id. The same person has the same
/// placeholder everywhere.
///
/// It is a type of its own, not an `AvatarImage`: a placeholder is never taken for somebody's picture, and the store
/// never keeps one.
public struct AvatarPlaceholder: Hashable, Sendable {
    /// What is written; empty for a person without a name: then it is a silhouette.
    public let initials: Initials
    /// The background.
    public let colour: PlaceholderColour

    /// The placeholder of the contact `id`, who is called `name`.
    public init(id: String, name: String?) {
        initials = Initials(of: name ?? "")
        colour = PlaceholderColour(of: id)
    }

    /// The media type of `svg(side:)`.
    public static let mediaType = "image/svg+xml"

    /// The placeholder as an SVG image of `side` by `side` pixels, which scales to any size. It names no font file and
    /// fetches nothing.
    public func svg(side: Int = 128) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="\(side)" height="\(side)" viewBox="0 0 128 128" \
        data-placeholder="true"><rect width="128" height="128" fill="\(colour.text)"/>\(foreground)</svg>

        """
    }

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

    /// Letters and digits need no escape in XML, and their marks do not either; this is for what a later Unicode brings.
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
