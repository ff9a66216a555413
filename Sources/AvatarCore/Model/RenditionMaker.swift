/// Makes renditions out of the bytes of originals. The product `AvatarRenditions` has one that decodes in a sandboxed process.
public protocol RenditionMaker: Sendable {
    /// The version of the decoders. The store tries a picture that an older version could not decode once more.
    var version: Int { get }

    /// Makes a rendition.
    ///
    /// - Parameters:
    ///   - rendition: the rendition to make. Its format is not `original`.
    ///   - descriptor: the open file of the original. Its offset is unspecified, and the call does not close it.
    /// - Throws: the reason why there is no rendition; `CancellationError` if the task is cancelled.
    func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition
}

/// A rendition as a `RenditionMaker` made it.
public struct MadeRendition: Sendable {
    /// The bytes of the file.
    public var bytes: [UInt8]
    /// The media type of the bytes, such as `image/jpeg`.
    public var mediaType: String
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int
    /// The ThumbHash of the original, at most 25 bytes: a blurred stand-in.
    public var thumbHash: [UInt8]

    /// - Parameters:
    ///   - bytes: the bytes of the file.
    ///   - mediaType: the media type of the bytes.
    ///   - width: the width in pixels.
    ///   - height: the height in pixels.
    ///   - thumbHash: the ThumbHash of the original.
    public init(bytes: [UInt8], mediaType: String, width: Int, height: Int, thumbHash: [UInt8]) {
        self.bytes = bytes
        self.mediaType = mediaType
        self.width = width
        self.height = height
        self.thumbHash = thumbHash
    }
}

/// The reason why there is no rendition of a picture.
public enum RenditionError: Error, Sendable, Hashable {
    /// The picture cannot be decoded: its format is not decoded here, its bytes are wrong, or it has too many pixels. The
    /// sentence says which.
    case cannotDecode(String)
    /// The decoder ended while it had the picture, or did not answer in time.
    case decoderDied(String)
    /// No picture can be decoded: the decoder is missing, has another version, or has no sandbox here.
    case unavailable(String)
    /// The rendition has more bytes than asked for at every quality and size.
    case tooManyBytes(Int)
}
