import AvatarCore
import AvatarImages

/// What the inspector says of `bytes`.
func inspect(_ bytes: [UInt8], maximumPixels: Int = 100_000_000, allowsSVG: Bool = true) throws -> ImageDescription {
    try ImageInspector(maximumPixels: maximumPixels, allowsSVG: allowsSVG).inspect(ByteArraySource(bytes))
}

/// Why the inspector refuses `bytes`; `nil` if it takes them.
func refusal(of bytes: [UInt8], maximumPixels: Int = 100_000_000, allowsSVG: Bool = true) throws -> ImageRejection? {
    do {
        _ = try inspect(bytes, maximumPixels: maximumPixels, allowsSVG: allowsSVG)
        return nil
    } catch let rejection as ImageRejection {
        return rejection
    }
}
