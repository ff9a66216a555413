/// The format of an image, told by its first bytes and never by what a server says of it.
///
/// More formats may be added; compare with the members below.
public struct ImageFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The media type in lower case and without parameters, for example `image/png`.
    public let rawValue: String

    /// The format with the media type `rawValue`, whether or not it is one of the members below.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// What goes into a `Content-Type` header.
    public var mediaType: String { rawValue }

    /// The usual file name extension without its dot, for example `jpg`; `img` for a format that is no member below.
    public var fileExtension: String { traits?.fileExtension ?? "img" }

    /// The media type.
    public var description: String { rawValue }

    /// PNG and animated PNG.
    public static let png = ImageFormat(rawValue: "image/png")
    /// JPEG: baseline, progressive, arithmetic-coded or lossless.
    public static let jpeg = ImageFormat(rawValue: "image/jpeg")
    /// GIF, still or animated.
    public static let gif = ImageFormat(rawValue: "image/gif")
    /// WebP: lossy, lossless, still or animated.
    public static let webp = ImageFormat(rawValue: "image/webp")
    /// AVIF: a HEIF file that holds AV1.
    public static let avif = ImageFormat(rawValue: "image/avif")
    /// HEIC: a HEIF file that holds HEVC.
    public static let heic = ImageFormat(rawValue: "image/heic")
    /// A HEIF file that names no coding of its own.
    public static let heif = ImageFormat(rawValue: "image/heif")
    /// Windows or OS/2 bitmap.
    public static let bmp = ImageFormat(rawValue: "image/bmp")
    /// Windows icon; a cursor is none.
    public static let ico = ImageFormat(rawValue: "image/x-icon")
    /// TIFF and BigTIFF, either byte order.
    public static let tiff = ImageFormat(rawValue: "image/tiff")
    /// JPEG 2000: a JP2 file or a bare codestream.
    public static let jpeg2000 = ImageFormat(rawValue: "image/jp2")
    /// SVG. Taken only where the configuration allows it: a drawing may hold scripts.
    public static let svg = ImageFormat(rawValue: "image/svg+xml")
}
