#if PlaceholderPNG
public import AvatarPlaceholder

extension AvatarPlaceholder {
    /// The media type of `png(side:)`.
    public static let pngMediaType = "image/png"

    /// The placeholder as a PNG image of `side` by `side` pixels.
    ///
    /// The same look as `svg(side:)`: the initials as Pango lays them out, on Apple systems Core Text, so that joined,
    /// stacked and right-to-left letters are right. If no font that is installed has the letters, it is the silhouette: no
    /// picture with empty boxes is made.
    ///
    /// The same placeholder gives the same bytes in each process of a machine; other fonts, or another version of the
    /// libraries that draw, may give others. A `tEXt` chunk with the keyword `Placeholder` marks it. Takes about a
    /// millisecond; the first one of a thread also looks for fonts.
    ///
    /// - Parameter side: 16 to 2,048 pixels.
    /// - Throws: `PlaceholderImageError` if `side` is out of bounds or the image cannot be made.
    public func png(side: Int = 128) throws(PlaceholderImageError) -> [UInt8] {
        guard (16...2048).contains(side) else {
            throw PlaceholderImageError("A placeholder has a side of 16 to 2048 pixels, not \(side).")
        }
        let canvas = try Canvas(side: side)
        canvas.fill(colour)
        if initials.text.isEmpty || !canvas.draw(initials) { canvas.drawSilhouette() }
        return PNGMark.marked(try canvas.png())
    }
}

/// Why a placeholder could not be drawn.
public struct PlaceholderImageError: Error, CustomStringConvertible {
    /// A sentence for a person.
    public let message: String
    /// The sentence.
    public var description: String { message }

    init(_ message: String) {
        self.message = message
    }
}
#endif
