/// A smaller image that the store makes of a stored one: its size, its format, and how it is cropped.
///
/// A rendition is upright and has no metadata. Of an animation it shows the first frame. It is never larger than its original.
public struct Rendition: Sendable, Hashable {
    /// The format of a rendition.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// The format of the original if it is JPEG, PNG or WebP, else PNG.
        case original
        /// JPEG. It has no transparency, so transparent parts become white.
        case jpeg
        /// PNG.
        case png
        /// WebP.
        case webp
    }

    /// How the image fits into the size.
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// The whole image. The size is that of its longer side.
        case inside
        /// The largest square in the middle. The size is that of each side.
        case square
    }

    /// The sizes of renditions in pixels, ascending. Other sizes are rounded, so that requests cannot fill the disk with sizes.
    public static let sizes = [32, 48, 64, 96, 128, 192, 256, 384, 512]

    /// The limit on the longer side, in pixels: one of `sizes`, 32 to 512. A smaller original is not scaled up.
    public let size: Int
    /// The format.
    public let format: Format
    /// How the image fits into the size.
    public let fit: Fit
    /// The limit on the length of the file, in bytes, at least 1; `nil` for no limit.
    ///
    /// The maker lowers the quality until the file fits, then takes the next smaller size. PNG has no quality to lower. If no
    /// quality and size fits, a read throws `imageRefused`, and an export writes the original.
    public let maxBytes: Int?

    /// - Parameters:
    ///   - size: the limit on the longer side, in pixels. It is rounded up to the next of `sizes`; larger values give 512.
    ///   - format: the format. Default: `original`.
    ///   - fit: how the image fits into the size. Default: `inside`, the whole image.
    ///   - maxBytes: the limit on the length of the file, in bytes. Values below 1 count as 1. Default: `nil`, no limit.
    public init(size: Int, format: Format = .original, fit: Fit = .inside, maxBytes: Int? = nil) {
        self.size = Self.sizes.first { $0 >= size } ?? 512
        self.format = format
        self.fit = fit
        self.maxBytes = maxBytes.map { max(1, $0) }
    }
}

extension Rendition {
    /// The rendition to make of an image with this media type and these dimensions. Its format is not `original`, and its size
    /// is no larger than the image needs. Renditions with the same result are equal.
    ///
    /// - Parameters:
    ///   - mediaType: the media type of the original.
    ///   - width: the width of the original in pixels; 0 if it is not known.
    ///   - height: the height of the original in pixels; 0 if it is not known.
    package func resolved(mediaType: String, width: Int, height: Int) -> Rendition {
        let format =
            switch (self.format, mediaType) {
            case (.original, "image/jpeg"): Format.jpeg
            case (.original, "image/webp"): Format.webp
            case (.original, _): Format.png
            default: self.format
            }
        let side = fit == .square ? min(width, height) : max(width, height)
        return Rendition(size: side > 0 ? min(size, side) : size, format: format, fit: fit, maxBytes: maxBytes)
    }

    /// The name of the rendition in the index.
    package var spec: String { description }
}

extension Rendition: CustomStringConvertible {
    /// The format, the size, the fit and the limit on the bytes, such as `jpeg 96 square 48000`.
    public var description: String {
        "\(format.rawValue) \(size) \(fit.rawValue)" + (maxBytes.map { " \($0)" } ?? "")
    }
}
