/// What the bytes of a complete image say of it.
package struct ImageDescription: Hashable, Sendable {
    /// The format, by the first bytes.
    package let format: ImageFormat
    /// Pixels from left to right as they are coded, before any rotation that EXIF metadata asks for. HEIF and AVIF state
    /// their crop and rotation as a part of the picture: theirs are the sides that a viewer shows.
    ///
    /// The largest picture of an icon, the canvas of an animation; 0 for an SVG that states no width and height.
    package let width: Int
    /// Pixels from top to bottom; see `width`.
    package let height: Int

    /// An image of `format` with `width` times `height` pixels.
    package init(format: ImageFormat, width: Int, height: Int) {
        self.format = format
        self.width = width
        self.height = height
    }
}
