/// Walks the structure of one format without decoding a pixel.
///
/// What every parser keeps to: a number from the file is checked against the bytes that are there before it is used;
/// each turn of a loop moves on in the file or counts towards a fixed limit; nothing is kept that grows with the file.
protocol ImageParser: SendableMetatype {
    /// A parser of what `reader` reads; the signature has been recognised already.
    init(_ reader: ByteReader)

    /// The size that the image states, if the image is there to its end.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` or `notImage`, or what the byte source throws.
    mutating func pixelSize() throws -> PixelSize
}

/// The width and height that an image states, before anyone has checked them.
///
/// 64 bits also where `Int` has 32, as no format states more than 32 of them.
struct PixelSize: Hashable {
    var width: Int64
    var height: Int64
    /// Pixels of the picture that a decoder makes before it crops it to this size; 0 where it crops nothing.
    var uncroppedPixelCount: Int64 = 0

    /// No size, as of an SVG that states none.
    static let zero = PixelSize(width: 0, height: 0)

    var isEmpty: Bool { width <= 0 || height <= 0 }

    /// Width times height; the largest number for a product that does not fit.
    var pixelCount: Int64 {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : product
    }

    /// Whether there are more than `limit` pixels, also before a crop; a product that fits no number is more than any limit.
    func exceeds(_ limit: Int) -> Bool {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow || max(product, uncroppedPixelCount) > limit
    }
}
