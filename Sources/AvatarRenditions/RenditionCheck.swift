import AvatarCore
import AvatarImages
import AvatarProviders

/// Checks the renditions that helpers return, because a picture may have taken over its decoder.
enum RenditionCheck {
    /// The rendition in a response, or the reason why it was not made.
    ///
    /// - Throws: `garbage` for bytes that do not match `rendition`.
    static func result(
        _ answer: DecoderProtocol.Answer,
        _ bytes: [UInt8],
        of rendition: Rendition
    ) throws(ConversationError) -> Result<MadeRendition, any Error> {
        if let refusal = answer.refusal { return .failure(refusal) }
        guard bytes.count <= rendition.maxBytes ?? .max, !answer.thumbHash.isEmpty,
            let picture = description(of: bytes),
            picture.format == format(of: rendition),
            picture.width == answer.width, picture.height == answer.height,
            max(picture.width, picture.height) <= rendition.size,
            rendition.fit == .inside || picture.width == picture.height
        else { throw .garbage }
        return .success(
            MadeRendition(
                bytes: bytes,
                mediaType: picture.format.mediaType,
                width: picture.width,
                height: picture.height,
                thumbHash: answer.thumbHash
            )
        )
    }

    private static func format(of rendition: Rendition) -> ImageFormat? {
        switch rendition.format {
        case .jpeg: .jpeg
        case .png: .png
        case .webp: .webp
        case .original: nil
        }
    }

    /// The format and size of a complete image; `nil` for anything else.
    private static func description(of bytes: [UInt8]) -> ImageDescription? {
        // The reason does not matter, because no honest helper sends such bytes.
        try? ImageInspector(maximumPixels: 512 * 512, allowsSVG: false).inspect(ByteArraySource(bytes))
    }
}
