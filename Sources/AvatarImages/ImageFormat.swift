/// The format of an image, told by its first bytes and never by what a server says of it.
///
/// More formats may be added; compare with the members below.
package struct ImageFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The media type in lower case and without parameters, for example `image/png`.
    package let rawValue: String

    /// The format with the media type `rawValue`, whether or not it is one of the members below.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// What goes into a `Content-Type` header.
    package var mediaType: String { rawValue }

    /// The usual file name extension without its dot, for example `jpg`; `img` for a format that is no member below.
    package var fileExtension: String { traits?.fileExtension ?? "img" }

    /// The media type.
    package var description: String { rawValue }

    /// PNG and animated PNG.
    package static let png = ImageFormat(rawValue: "image/png")
    /// JPEG: baseline, progressive, arithmetic-coded or lossless.
    package static let jpeg = ImageFormat(rawValue: "image/jpeg")
    /// GIF, still or animated.
    package static let gif = ImageFormat(rawValue: "image/gif")
    /// WebP: lossy, lossless, still or animated.
    package static let webp = ImageFormat(rawValue: "image/webp")
    /// AVIF: a HEIF file that holds AV1.
    package static let avif = ImageFormat(rawValue: "image/avif")
    /// HEIC: a HEIF file that holds HEVC.
    package static let heic = ImageFormat(rawValue: "image/heic")
    /// A HEIF file that names no coding of its own.
    package static let heif = ImageFormat(rawValue: "image/heif")
    /// Windows or OS/2 bitmap.
    package static let bmp = ImageFormat(rawValue: "image/bmp")
    /// Windows icon; a cursor is none.
    package static let ico = ImageFormat(rawValue: "image/x-icon")
    /// TIFF and BigTIFF, either byte order.
    package static let tiff = ImageFormat(rawValue: "image/tiff")
    /// JPEG 2000: a JP2 file or a bare codestream.
    package static let jpeg2000 = ImageFormat(rawValue: "image/jp2")
    /// SVG. Taken only where the configuration allows it: a drawing may hold scripts.
    package static let svg = ImageFormat(rawValue: "image/svg+xml")
}

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
