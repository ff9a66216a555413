#if PlaceholderPNG
public import AvatarPlaceholder

extension AvatarPlaceholder {
    /// The media type of `png(side:)`.
    public static let pngMediaType = "image/png"

    /// The placeholder as a square PNG image.
    ///
    /// It looks like `svg(side:)`. Pango lays out the initials, or Core Text on Apple platforms, so joined, stacked and
    /// right-to-left letters are correct. If no installed font has the letters, the silhouette is drawn instead of
    /// empty boxes.
    ///
    /// The same placeholder gives the same bytes in every process of a machine. Other fonts, or another version of the
    /// drawing libraries, may give other bytes. A `tEXt` chunk with the keyword `Placeholder` marks the file. Drawing
    /// takes about a millisecond; the first call on a thread also loads the fonts.
    ///
    /// - Parameter side: the width and height in pixels, 16 to 2,048. Default: 128.
    /// - Throws: `PlaceholderImageError` if `side` is out of range or the image cannot be drawn.
    public func png(side: Int = 128) throws(PlaceholderImageError) -> [UInt8] {
        guard (16...2048).contains(side) else {
            throw PlaceholderImageError("The side \(side) is out of range: it must be 16 to 2048 pixels.")
        }
        let canvas = try Canvas(side: side)
        canvas.fill(colour)
        if initials.text.isEmpty || !canvas.draw(initials) { canvas.drawSilhouette() }
        return PNGMark.marked(try canvas.png())
    }
}

/// The error of a placeholder that could not be drawn.
public struct PlaceholderImageError: Error, CustomStringConvertible {
    /// A full sentence for users.
    public let message: String
    /// The message.
    public var description: String { message }

    init(_ message: String) {
        self.message = message
    }
}

/// Marks a PNG file as a placeholder with a `tEXt` chunk behind the header (PNG, third edition, section 11.3.3.3).
private enum PNGMark {
    /// The length of the signature and the chunk `IHDR`, which is fixed.
    private static let headerLength = 8 + 25

    /// The file `png` with the mark added.
    static func marked(_ png: [UInt8]) -> [UInt8] {
        let mark = ThumbHash.chunk("tEXt", Array("Placeholder\0true".utf8))
        return png.prefix(headerLength) + mark + png.dropFirst(headerLength)
    }
}
#endif
