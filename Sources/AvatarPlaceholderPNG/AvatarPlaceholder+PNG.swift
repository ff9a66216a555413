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

/// Says inside the file that it is a placeholder: a `tEXt` chunk behind the header (PNG, third edition, section 11.3.3.3).
private enum PNGMark {
    /// The signature, and the chunk `IHDR`, which has one length.
    private static let headerLength = 8 + 25

    static func marked(_ png: [UInt8]) -> [UInt8] {
        png.prefix(headerLength) + chunk("tEXt", Array("Placeholder\0true".utf8)) + png.dropFirst(headerLength)
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(type.utf8) + data
        return bytes(UInt32(data.count)) + content + bytes(checksum(content))
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// CRC-32 as PNG has it (annex D).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
        }
    }
}
#endif
