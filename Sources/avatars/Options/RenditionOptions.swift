import ArgumentParser
import AvatarRenditions
import AvatarStore

/// The options of commands that decode pictures.
struct DecoderOptions: ParsableArguments {
    /// The decoder refuses to work without a sandbox, unless this is given.
    @Flag(help: "Decode pictures even where the system offers no sandbox.")
    var decodeWithoutSandbox = false

    /// Makes the store able to make renditions.
    func apply(to configuration: inout AvatarStore.Configuration) {
        configuration.renditions = DecoderPool(allowsUnsandboxed: decodeWithoutSandbox)
    }
}

/// The options of commands that give pictures in another size or format.
struct RenditionOptions: ParsableArguments {
    private static let sizes = 1...4096

    /// Taken up to the next of the sizes of `Rendition`.
    @Option(help: ArgumentHelp("A copy of at most this many pixels on a side: 32 to 512.", valueName: "pixels"))
    var size: Int?

    /// Default: `original`.
    @Option(help: "The format of the copy.")
    var format: Rendition.Format?

    /// Default: the whole picture.
    @Flag(help: "Cut the copy to the square in the middle.")
    var square = false

    /// The quality is lowered until the copy fits, then the size.
    @Option(
        help: ArgumentHelp("The largest copy, such as 48kB.", valueName: "bytes"),
        transform: ByteAmount.parse
    )
    var maxBytes: Int?

    @OptionGroup var decoder: DecoderOptions

    /// - Throws: `ValidationError` for a size out of range, and for no bytes.
    func validate() throws {
        if let size, !Self.sizes.contains(size) {
            throw ValidationError("--size must be a number between 1 and \(Self.sizes.upperBound), not \(size).")
        }
        if let maxBytes, maxBytes < 1 { throw ValidationError("--max-bytes must be at least 1.") }
    }

    /// The rendition; `nil` if the picture is asked for as it is. Without a size it has the largest.
    var rendition: Rendition? {
        guard size != nil || format != nil || square || maxBytes != nil else { return nil }
        return Rendition(
            size: size ?? Self.sizes.upperBound,
            format: format ?? .original,
            fit: square ? .square : .inside,
            maxBytes: maxBytes
        )
    }

    /// Makes the store able to make the rendition, if one is asked for.
    func apply(to configuration: inout AvatarStore.Configuration) {
        if rendition != nil { decoder.apply(to: &configuration) }
    }
}
