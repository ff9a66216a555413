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
