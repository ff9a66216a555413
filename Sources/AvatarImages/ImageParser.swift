/// Walks the structure of a file in one format without decoding a pixel.
///
/// Files come from anywhere, so every parser follows three rules. It checks an integer from the file against the file's
/// length before using it. Each iteration of a loop advances in the file or counts towards a fixed limit. It keeps no
/// data that grows with the file.
protocol ImageParser: SendableMetatype {
    /// A parser of the file behind `reader`, whose signature the inspector has already matched.
    init(_ reader: ByteReader)

    /// Checks that the file is complete and returns the size that it states.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` or `notImage`; any error that the byte source throws.
    mutating func pixelSize() throws -> PixelSize

    /// Whether the file holds metadata: anything but the image, its colour profile, its resolution and its orientation.
    ///
    /// `pixelSize()` finds out while it walks the file, so it must have returned. Bytes hidden inside the coded pixels are
    /// not found.
    var hasMetadata: Bool { get }
}

/// The width and height that a file states. They are unchecked: they may be 0, negative or huge.
///
/// No format states more than 32 bits a side, so `Int64` holds them even where `Int` has 32 bits.
struct PixelSize: Hashable {
    /// The width in pixels.
    var width: Int64
    /// The height in pixels.
    var height: Int64
    /// The pixels that a decoder produces before it crops the image to this size; 0 if it crops nothing.
    var uncroppedPixelCount: Int64 = 0

    /// No size: an SVG that states none.
    static let zero = PixelSize(width: 0, height: 0)

    /// Whether the image has no pixels.
    var isEmpty: Bool { width <= 0 || height <= 0 }

    /// Width times height, or `Int64.max` on overflow.
    var pixelCount: Int64 {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }

    /// Whether the image has more than `limit` pixels, before or after its crop. An overflow exceeds any limit.
    func exceeds(_ limit: Int) -> Bool {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow || max(product, uncroppedPixelCount) > limit
    }
}
