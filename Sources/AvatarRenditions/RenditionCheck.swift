import AvatarCore
import AvatarImages
import AvatarProviders

/// Checks the renditions that helpers return, because an image may have taken over its decoder.
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
            let image = description(of: bytes),
            image.format == format(of: rendition),
            image.width == answer.width, image.height == answer.height,
            max(image.width, image.height) <= rendition.size,
            rendition.fit == .inside || image.width == image.height
        else { throw .garbage }
        return .success(
            MadeRendition(
                bytes: bytes,
                mediaType: image.format.mediaType,
                width: image.width,
                height: image.height,
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
