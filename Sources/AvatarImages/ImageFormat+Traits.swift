extension ImageFormat {
    /// What the program knows of a format besides its media type.
    struct Traits: Sendable {
        /// The word for the format in messages.
        let name: String
        let fileExtension: String
        let parser: any ImageParser.Type
    }

    /// `nil` for a format that is none of the members.
    var traits: Traits? { Self.table[self] }

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
