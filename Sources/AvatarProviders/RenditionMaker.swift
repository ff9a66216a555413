/// Makes renditions of originals. `DecoderPool` of the product `AvatarRenditions` decodes them in a sandboxed process.
public protocol RenditionMaker: Sendable {
    /// The version of the decoders. If it changes, the store tries again to decode images that failed before.
    var version: Int { get }

    /// Makes a rendition. May be called by several tasks at once.
    ///
    /// - Parameters:
    ///   - rendition: the rendition to make. Its format must not be `original`.
    ///   - descriptor: the open file of the original. Its offset is unspecified, and the call does not close it.
    /// - Returns: the file, no larger than `rendition.size` on a side and `rendition.maxBytes`, and the original's ThumbHash.
    /// - Throws: `RenditionError`; `CancellationError` if the task is cancelled.
    func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition
}

/// A finished rendition, as `RenditionMaker.make(_:from:)` returns it.
public struct MadeRendition: Sendable {
    /// The bytes of the whole file.
    public var bytes: [UInt8]
    /// The media type of the bytes: `image/jpeg`, `image/png` or `image/webp`.
    public var mediaType: String
    /// The width in pixels, 1 to 512.
    public var width: Int
    /// The height in pixels, 1 to 512.
    public var height: Int
    /// The ThumbHash of the original, 5 to 25 bytes: a blurred stand-in.
    public var thumbHash: [UInt8]

    /// - Parameters:
    ///   - bytes: the bytes of the whole file.
    ///   - mediaType: the media type of the bytes.
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - thumbHash: the ThumbHash of the original, 5 to 25 bytes.
    public init(bytes: [UInt8], mediaType: String, width: Int, height: Int, thumbHash: [UInt8]) {
        (self.bytes, self.mediaType, self.width) = (bytes, mediaType, width)
        (self.height, self.thumbHash) = (height, thumbHash)
    }
}

/// The reason why a rendition could not be made.
public enum RenditionError: Error, Sendable, Hashable {
    /// The image cannot be decoded; the text is a sentence with the reason. Its format is not supported, its bytes are
    /// truncated or damaged, or it exceeds a limit: 50 million pixels, 65,500 pixels on a side, 64 MiB. The store remembers
    /// this.
    case cannotDecode(String)
    /// The decoder failed by itself or timed out while it decoded the image; the text is a sentence with the reason. The store gives the
    /// image up after three times.
    case decoderDied(String)
    /// No image can be decoded; the text is a sentence with the reason, and what to do. The decoder is missing, has another
    /// version, has no sandbox here, or was ended from outside. The store tries again with the next request.
    case unavailable(String)
    /// No quality and size fits `Rendition.maxBytes`. The number is the length of the smallest file tried, in bytes.
    case tooManyBytes(Int)
}
