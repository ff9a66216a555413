/// What the bytes of a complete image say of it.
public struct ImageDescription: Hashable, Sendable {
    /// The format, by the first bytes.
    public let format: ImageFormat
    /// Pixels from left to right as they are coded, before any rotation that metadata asks for.
    ///
    /// The largest picture of an icon, the canvas of an animation; 0 for an SVG that states no width and height.
    public let width: Int
    /// Pixels from top to bottom; see `width`.
    public let height: Int

    /// An image of `format` with `width` times `height` pixels.
    public init(format: ImageFormat, width: Int, height: Int) {
        self.format = format
        self.width = width
        self.height = height
    }
}
