import AvatarCore
import AvatarImages

/// The format and size of `bytes`, or the rejection as an error.
func inspect(_ bytes: [UInt8], maximumPixels: Int = 100_000_000, allowsSVG: Bool = true) throws -> ImageDescription {
    try ImageInspector(maximumPixels: maximumPixels, allowsSVG: allowsSVG).inspect(ByteArraySource(bytes))
}

/// The rejection of `bytes`; `nil` if the inspector accepts them.
func refusal(of bytes: [UInt8], maximumPixels: Int = 100_000_000, allowsSVG: Bool = true) throws -> ImageRejection? {
    do {
        _ = try inspect(bytes, maximumPixels: maximumPixels, allowsSVG: allowsSVG)
        return nil
    } catch let rejection as ImageRejection {
        return rejection
    }
}
