package import AvatarCore

/// Checks that a file is a complete image in a known format, and reads its width and height.
///
/// The first bytes determine the format; a server's `Content-Type` is ignored. A parser then walks the structure to the
/// end of the image, so a truncated file is refused. Bytes after that end are allowed; they count as metadata, which the
/// same walk finds. No pixel is decoded: a file that passes may still hold damaged image data.
///
/// An image of up to 64 KiB costs one read. Time is at most linear in the size of the file. Memory is bounded: one read
/// of 64 KiB and, for formats made of boxes, a table of at most 4096 boxes for each level.
package struct ImageInspector: Sendable {
    /// The maximum number of pixels (width times height) of an image, before any crop that a HEIF file states.
    package let maximumPixels: Int
    /// Whether SVG is accepted. SVG is text that can hold scripts and references to other hosts.
    package let allowsSVG: Bool

    /// An inspector with these limits.
    package init(maximumPixels: Int, allowsSVG: Bool) {
        self.maximumPixels = maximumPixels
        self.allowsSVG = allowsSVG
    }

    /// Checks the image in `source` and returns its format and size.
    ///
    /// - Throws: `ImageRejection` of kind `notImage` (unknown format, invalid structure, no pixels, or SVG where it is
    ///   not allowed), `truncated` or `tooManyPixels`; any error that `source` throws.
    package func inspect(_ source: some ByteSource) throws -> ImageDescription {
        var reader = ByteReader(source)
        let format = try Self.format(of: &reader)
        guard format != .svg || allowsSVG else {
            throw ImageRejection(
                kind: .notImage,
                message:
                    "The image is an SVG drawing, which may hold scripts, so it is refused. `avatars config allow-svg true` "
                    + "allows SVG."
            )
        }
        guard let traits = format.traits else { throw Self.unknownFormat }
        reader.format = format
        var parser = traits.parser.init(reader)
        var description = try description(of: parser.pixelSize(), format: format, name: traits.name)
        description.hasMetadata = parser.hasMetadata
        return description
    }

    /// Whether a file that starts with `prefix` may be an image of a known format.
    ///
    /// The fetcher calls this on the first chunk, to refuse an HTML page before downloading the rest. SVG counts as a
    /// known format even if `allowsSVG` is off. An empty or undecided prefix returns true.
    package static func couldBeImage(prefix: ArraySlice<UInt8>) -> Bool {
        guard !prefix.isEmpty else { return true }
        guard ImageSignature.verdict(on: Array(prefix.prefix(ImageSignature.longestPrefix))) == .unknown else {
            return true
        }
        var scanner = XMLScanner(ByteReader(ByteArraySource(Array(prefix.prefix(longestProlog)))))
        do {
            return try scanner.findRoot("svg")
        } catch {
            // The prefix ends before the first element, so it may still become an SVG.
            return true
        }
    }

    /// The number of bytes searched for the root element of an SVG.
    private static let longestProlog = 4096

    /// Recognises the format by the first 512 bytes, or an SVG by its root element.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` if the file ends inside a signature, `notImage` if no format
    ///   matches; any error that the source throws.
    private static func format(of reader: inout ByteReader) throws -> ImageFormat {
        let prefix = try reader.prefix(ImageSignature.longestPrefix)
        switch ImageSignature.verdict(on: prefix) {
        case .format(let format): return format
        case .undecided where !prefix.isEmpty: throw reader.truncated("it has \(prefix.count) bytes")
        default: break
        }
        var scanner = XMLScanner(reader)
        do {
            guard try scanner.findRoot("svg") else { throw unknownFormat }
        } catch let rejection as ImageRejection where rejection.kind == .truncated {
            throw unknownFormat
        }
        return .svg
    }

    /// The rejection of bytes that match no signature, such as an HTML error page with status 200.
    private static var unknownFormat: ImageRejection {
        ImageRejection(kind: .notImage, message: "The first bytes match no known image format.")
    }

    /// Applies the limits of this inspector to the size that a file states.
    ///
    /// - Throws: `ImageRejection` of kind `notImage` for an image without pixels, `tooManyPixels` above the limit.
    private func description(of size: PixelSize, format: ImageFormat, name: String) throws -> ImageDescription {
        guard !size.isEmpty || format == .svg else {
            throw ImageRejection(kind: .notImage, message: "The \(name) image has no pixels: its width or height is 0.")
        }
        guard !size.exceeds(maximumPixels) else {
            let crop = size.uncroppedPixelCount > 0 ? " (\(size.uncroppedPixelCount) before its crop)" : ""
            throw ImageRejection(
                kind: .tooManyPixels,
                message: "The \(name) image has \(size.width) x \(size.height) pixels\(crop);"
                    + " the limit of the setting `max-pixels` is \(maximumPixels)."
            )
        }
        return ImageDescription(format: format, width: Int(size.width), height: Int(size.height))
    }
}

/// The format and size of a complete image, and whether it holds metadata.
package struct ImageDescription: Hashable, Sendable {
    /// The format, recognised by the first bytes.
    package let format: ImageFormat
    /// The width in pixels as coded. EXIF rotation is not applied. The crop and rotation of HEIF and AVIF are applied,
    /// because they are part of the image.
    ///
    /// An icon reports its largest image, an animation its canvas. An SVG without a width and height reports 0.
    package let width: Int
    /// The height in pixels, by the same rules as `width`.
    package let height: Int
    /// Whether the file holds anything but the image, its colour profile, its resolution and its orientation: EXIF, XMP,
    /// IPTC, comments, texts, thumbnails, further images, bytes after the end.
    package var hasMetadata: Bool

    /// An image of `format` with `width` times `height` pixels.
    package init(format: ImageFormat, width: Int, height: Int, hasMetadata: Bool = false) {
        (self.format, self.width, self.height, self.hasMetadata) = (format, width, height, hasMetadata)
    }
}
