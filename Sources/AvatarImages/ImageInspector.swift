package import AvatarCore

/// Decides whether bytes are a whole image that the store takes, and says which.
///
/// The first bytes decide on the format, whatever a server calls it. Then the structure is walked to the end of the
/// picture, so that one that was cut short is refused; bytes behind the end are allowed. Nothing is decoded: a file
/// that passes can still hold a damaged picture.
///
/// A small image costs one read of 64 KiB. No image costs more than time linear in its size, and memory for one
/// such read and a table of boxes of limited length.
package struct ImageInspector: Sendable {
    /// The most pixels (width times height) that an image may have.
    package let maximumPixels: Int
    /// Whether SVG is taken. It is text that can hold scripts and references to other places.
    package let allowsSVG: Bool

    package init(maximumPixels: Int, allowsSVG: Bool) {
        self.maximumPixels = maximumPixels
        self.allowsSVG = allowsSVG
    }

    /// The format and size of the image that `source` holds.
    ///
    /// - Throws: `ImageRejection`, or what `source` throws.
    package func inspect(_ source: some ByteSource) throws -> ImageDescription {
        var reader = ByteReader(source)
        let format = try Self.format(of: &reader)
        guard format != .svg || allowsSVG else {
            throw ImageRejection(kind: .notImage, message: "The image is an SVG drawing, and SVG is not allowed here.")
        }
        guard let traits = format.traits else { throw Self.unknownFormat }
        reader.format = format
        var parser = traits.parser.init(reader)
        return try description(of: parser.pixelSize(), format: format, name: traits.name)
    }

    /// Whether bytes that begin with `prefix` are an image of a known format, or could be one when more is known.
    ///
    /// For refusing a page of HTML at its first chunk. SVG counts as known, and no bytes at all could be anything.
    package static func couldBeImage(prefix: some Collection<UInt8>) -> Bool {
        let bytes = Array(prefix.prefix(longestProlog))
        guard !bytes.isEmpty else { return true }
        guard ImageSignature.verdict(on: Array(bytes.prefix(ImageSignature.longestPrefix))) == .unknown else {
            return true
        }
        var scanner = XMLScanner(ByteReader(ByteArraySource(bytes)))
        do {
            return try scanner.findRoot("svg")
        } catch {
            // The bytes end before the first element.
            return true
        }
    }

    /// How much of a prefix is searched for the beginning of an SVG.
    private static let longestProlog = 4096

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

    private static var unknownFormat: ImageRejection {
        ImageRejection(kind: .notImage, message: "The first bytes are those of no known image format.")
    }

    private func description(of size: PixelSize, format: ImageFormat, name: String) throws -> ImageDescription {
        guard !size.isEmpty || format == .svg else {
            throw ImageRejection(kind: .notImage, message: "The \(name) image has no pixels: its width or height is 0.")
        }
        guard !size.exceeds(maximumPixels) else {
            throw ImageRejection(
                kind: .tooManyPixels,
                message: "The \(name) image has \(size.width) x \(size.height) pixels;"
                    + " the limit is \(maximumPixels) pixels."
            )
        }
        return ImageDescription(format: format, width: Int(size.width), height: Int(size.height))
    }
}

/// What the bytes of a complete image say of it.
package struct ImageDescription: Hashable, Sendable {
    /// The format, by the first bytes.
    package let format: ImageFormat
    /// Pixels from left to right as they are coded, before any rotation that EXIF metadata asks for. HEIF and AVIF state
    /// their crop and rotation as a part of the picture: theirs are the sides that a viewer shows.
    ///
    /// The largest picture of an icon, the canvas of an animation; 0 for an SVG that states no width and height.
    package let width: Int
    /// Pixels from top to bottom; see `width`.
    package let height: Int

    /// An image of `format` with `width` times `height` pixels.
    package init(format: ImageFormat, width: Int, height: Int) {
        self.format = format
        self.width = width
        self.height = height
    }
}

/// Why bytes are not taken as an image.
package struct ImageRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// `notImage`, `truncated` or `tooManyPixels`.
    package let kind: FailureKind
    /// A full sentence for a person. It quotes nothing of the bytes.
    package let message: String

    package init(kind: FailureKind, message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
