import AvatarCore
import AvatarImages

/// Files that may be images.
enum ImageSubject {
    private static let inspector = ImageInspector(maximumPixels: 50_000_000, allowsSVG: true)

    static func check(_ input: [UInt8]) {
        let source = CountingSource(input)
        do {
            let image = try inspector.inspect(source)
            require(image.width >= 0 && image.height >= 0, "a negative size")
            require(image.width * image.height <= 50_000_000, "more pixels than the limit")
            require(ImageInspector.couldBeImage(prefix: input.prefix(1024)), "an image whose first bytes are refused")
        } catch let rejection as ImageRejection {
            require(!rejection.message.isEmpty, "a refusal without a reason")
        } catch {
            fatalError("another error than a refusal: \(error)")
        }
        // Linear, whatever the file says of itself.
        require(source.bytesRead <= 64 * 1024 * 8 + 64 * input.count, "a file that is read again and again")
    }

    /// Counts what is read.
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
