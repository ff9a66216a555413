/// A smaller copy of a picture for showing: its size, its format, and how it is cut.
///
/// The orientation of the original is applied, metadata is dropped, and of an animation the first frame is used. A rendition is
/// never larger than its original.
public struct Rendition: Sendable, Hashable {
    /// The format of a rendition.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// The format of the original if it is JPEG, PNG or WebP, else PNG.
        case original
        /// JPEG, which has no transparency: transparent parts are white.
        case jpeg
        /// PNG.
        case png
        /// WebP.
        case webp
    }

    /// How the picture fits the size.
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// The whole picture, whose longer side has the size.
        case inside
        /// The largest square in the middle, whose sides have the size.
        case square
    }

    /// The sizes that are made, in pixels. Any size would let each request fill the disk with another file.
    public static let sizes = [32, 48, 64, 96, 128, 192, 256, 384, 512]

    /// The length of the longer side in pixels: one of `sizes`.
    public let size: Int
    /// The format.
    public let format: Format
    /// How the picture fits the size.
    public let fit: Fit
    /// The largest number of bytes; `nil` for any.
    ///
    /// The quality is lowered until the rendition fits. Then the next smaller size is taken.
    public let maxBytes: Int?

    /// - Parameters:
    ///   - size: the length of the longer side in pixels. It is taken up to the next of `sizes`, and down to the last of them.
    ///   - format: the format. Default: that of the original.
    ///   - fit: how the picture fits the size. Default: the whole picture.
    ///   - maxBytes: the largest number of bytes, at least 1. Default: any.
    public init(size: Int, format: Format = .original, fit: Fit = .inside, maxBytes: Int? = nil) {
        self.size = Self.sizes.first { $0 >= size } ?? 512
        self.format = format
        self.fit = fit
        self.maxBytes = maxBytes.map { max(1, $0) }
    }
}

extension Rendition {
    /// The rendition that is made of a picture with this media type and these dimensions: with a format of its own, and no larger
    /// than the picture needs. Renditions with the same result are equal.
    ///
    /// - Parameters:
    ///   - width: the width in pixels; 0 if it is not known.
    ///   - height: the height in pixels; 0 if it is not known.
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
    /// The format, the size, the fit and the largest number of bytes, such as `jpeg 96 square 48000`.
    public var description: String {
        "\(format.rawValue) \(size) \(fit.rawValue)" + (maxBytes.map { " \($0)" } ?? "")
    }
}
