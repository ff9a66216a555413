extension ImageFormat {
    /// PNG and animated PNG.
    package static let png = ImageFormat(rawValue: "image/png")
    /// JPEG: baseline, progressive, arithmetic-coded or lossless.
    package static let jpeg = ImageFormat(rawValue: "image/jpeg")
    /// GIF, still or animated.
    package static let gif = ImageFormat(rawValue: "image/gif")
    /// WebP: lossy, lossless, still or animated.
    package static let webp = ImageFormat(rawValue: "image/webp")
    /// AVIF: a HEIF file with an AV1 image.
    package static let avif = ImageFormat(rawValue: "image/avif")
    /// HEIC: a HEIF file with an HEVC image.
    package static let heic = ImageFormat(rawValue: "image/heic")
    /// A HEIF file whose brands name no specific coding.
    package static let heif = ImageFormat(rawValue: "image/heif")
    /// Windows or OS/2 bitmap.
    package static let bmp = ImageFormat(rawValue: "image/bmp")
    /// Windows icon. A cursor file is not recognised.
    package static let ico = ImageFormat(rawValue: "image/x-icon")
    /// TIFF and BigTIFF, in either byte order.
    package static let tiff = ImageFormat(rawValue: "image/tiff")
    /// JPEG 2000: a JP2 file or a bare codestream.
    package static let jpeg2000 = ImageFormat(rawValue: "image/jp2")
    /// SVG. Accepted only if the configuration allows it, because a drawing may hold scripts.
    package static let svg = ImageFormat(rawValue: "image/svg+xml")
}

extension ImageFormat {
    /// The properties of a known format: everything but its media type and its signature.
    struct Traits: Sendable {
        /// The name of the format in messages, for example `WebP`.
        let name: String
        /// The file name extension without its dot.
        let fileExtension: String
        /// The parser that checks a file of this format.
        let parser: any ImageParser.Type
    }

    /// The usual file name extension without its dot, for example `jpg`; `img` for a format that is not a static member.
    package var fileExtension: String { traits?.fileExtension ?? "img" }

    /// The file name extensions of all formats in lower case, with other usual spellings.
    package static let fileExtensions = Set(table.values.map(\.fileExtension)).union(["jpeg", "tif", "apng"])

    /// The properties of this format; `nil` if it is not one of the members.
    var traits: Traits? { Self.table[self] }

    /// The traits of the static members. A new format needs an entry here, and a signature in `ImageSignature`.
    private static let table: [ImageFormat: Traits] = [
        .png: Traits(name: "PNG", fileExtension: "png", parser: PNGParser.self),
        .jpeg: Traits(name: "JPEG", fileExtension: "jpg", parser: JPEGParser.self),
        .gif: Traits(name: "GIF", fileExtension: "gif", parser: GIFParser.self),
        .webp: Traits(name: "WebP", fileExtension: "webp", parser: WebPParser.self),
        .avif: Traits(name: "AVIF", fileExtension: "avif", parser: HEIFParser.self),
        .heic: Traits(name: "HEIC", fileExtension: "heic", parser: HEIFParser.self),
        .heif: Traits(name: "HEIF", fileExtension: "heif", parser: HEIFParser.self),
        .bmp: Traits(name: "BMP", fileExtension: "bmp", parser: BMPParser.self),
        .ico: Traits(name: "ICO", fileExtension: "ico", parser: ICOParser.self),
        .tiff: Traits(name: "TIFF", fileExtension: "tiff", parser: TIFFParser.self),
        .jpeg2000: Traits(name: "JPEG 2000", fileExtension: "jp2", parser: JPEG2000Parser.self),
        .svg: Traits(name: "SVG", fileExtension: "svg", parser: SVGParser.self),
    ]
}
