import AvatarCore
import AvatarImages

/// Fuzzes the image parsers, and the removal of metadata, with files that may be images.
enum ImageSubject {
    private static let inspector = ImageInspector(maximumPixels: 50_000_000, allowsSVG: true)

    static func check(_ input: [UInt8]) {
        let source = CountingSource(input)
        do {
            let image = try inspector.inspect(source)
            require(image.width >= 0 && image.height >= 0, "a negative size")
            require(image.width * image.height <= 50_000_000, "more pixels than the limit")
            require(ImageInspector.couldBeImage(prefix: input.prefix(1024)), "couldBeImage refuses an accepted image")
            if image.format.canLoseMetadata { try checkStripping(input, image) }
        } catch let rejection as ImageRejection {
            require(!rejection.message.isEmpty, "a rejection without a message")
        } catch {
            fatalError("an error other than ImageRejection: \(error)")
        }
        // The bytes read are linear in the length of the file, whatever its fields state.
        require(source.bytesRead <= 64 * 1024 * 8 + 64 * input.count, "more reads than the length of the file allows")
    }

    /// Takes the metadata out of an accepted image: the rest is the same image, in which none is found.
    private static func checkStripping(_ input: [UInt8], _ image: ImageDescription) throws {
        do {
            let view = try StrippedImage(of: ByteArraySource(input), as: image.format)
            let bytes = try view.bytes(at: 0, count: view.byteCount)
            require(bytes.count == view.byteCount, "a view of another length")
            let stripped = try inspector.inspect(ByteArraySource(bytes))
            require(!stripped.hasMetadata, "metadata is left")
            require(
                stripped.format == image.format && stripped.width == image.width && stripped.height == image.height,
                "another image"
            )
        } catch let rejection as ImageRejection {
            require(rejection.message.contains("pieces"), "an image without its metadata is refused: \(rejection)")
        }
    }

    /// A byte source that counts the bytes read.
    private final class CountingSource: ByteSource {
        private let bytes: ByteArraySource
        private(set) var bytesRead = 0

        init(_ bytes: [UInt8]) {
            self.bytes = ByteArraySource(bytes)
        }

        var byteCount: Int { bytes.byteCount }

        func bytes(at offset: Int, count: Int) -> [UInt8] {
            let result = bytes.bytes(at: offset, count: count)
            bytesRead += result.count
            return result
        }
    }
}
