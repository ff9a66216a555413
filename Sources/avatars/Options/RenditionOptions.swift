import ArgumentParser
import AvatarRenditions
import AvatarStore

/// The options of commands that decode images.
struct DecoderOptions: ParsableArguments {
    /// Without this flag the decoder refuses to work without a sandbox.
    @Flag(help: "Decode images even where the system offers no sandbox.")
    var decodeWithoutSandbox = false

    /// Gives the store a decoder.
    func apply(to configuration: inout AvatarStore.Configuration) {
        configuration.renditions = DecoderPool(allowsUnsandboxed: decodeWithoutSandbox)
    }
}

/// The options of commands that output images in another size or format.
struct RenditionOptions: ParsableArguments {
    private static let sizes = 1...4096

    /// Rounded up to one of `Rendition.sizes`.
    @Option(
        help: ArgumentHelp(
            "Scale the image to at most N pixels on a side, 1 to 4096. Rounded up to 32, 48, 64 ... 512; larger values "
                + "give 512.",
            valueName: "n"
        )
    )
    var size: Int?

    /// Default: `original`.
    @Option(help: "Convert the image to this format.")
    var format: Rendition.Format?

    /// Default: the whole image.
    @Flag(help: "Crop the image to the square in the middle.")
    var square = false

    /// The decoder lowers the quality until the file fits, then the size.
    @Option(
        help: ArgumentHelp("Lower the quality, then the size, to fit this limit, such as 48kB.", valueName: "bytes"),
        transform: ByteAmount.parse
    )
    var maxBytes: Int?

    @OptionGroup var decoder: DecoderOptions

    /// - Throws: `ValidationError` for a size out of range, and for a limit below one byte.
    func validate() throws {
        if let size, !Self.sizes.contains(size) {
            throw ValidationError("--size must be a number from 1 to \(Self.sizes.upperBound), not \(size).")
        }
        if let maxBytes, maxBytes < 1 { throw ValidationError("--max-bytes must be at least 1, not \(maxBytes).") }
    }

    /// The requested rendition; `nil` for the original. Without `--size` it has the largest size.
    var rendition: Rendition? {
        guard size != nil || format != nil || square || maxBytes != nil else { return nil }
        return Rendition(
            size: size ?? Self.sizes.upperBound,
            format: format ?? .original,
            fit: square ? .square : .inside,
            maxBytes: maxBytes
        )
    }

    /// Gives the store a decoder if the options request a rendition.
    func apply(to configuration: inout AvatarStore.Configuration) {
        if rendition != nil { decoder.apply(to: &configuration) }
    }
}
