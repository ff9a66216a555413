import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WebPParserTests {
    private func file(_ chunks: [UInt8]...) -> [UInt8] {
        let content = Array("WEBP".utf8) + Array(chunks.joined())
        return Array("RIFF".utf8) + .littleEndian(UInt32(content.count)) + content
    }

    private func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        Array(name.utf8) + .littleEndian(UInt32(data.count)) + data + (data.count % 2 == 0 ? [] : [0])
    }

    /// The header of an extended file with a canvas of 4 x 3 pixels and no flags.
    private var canvas: [UInt8] { chunk("VP8X", [0, 0, 0, 0, 3, 0, 0, 2, 0, 0]) }

    private func lossless(width: UInt32, height: UInt32) -> [UInt8] {
        chunk("VP8L", [0x2F] + .littleEndian((width - 1) | (height - 1) << 14))
    }

    @Test func oddChunksArePadded() throws {
        let metadata = chunk("EXIF", [1, 2, 3])
        let bytes = file(canvas, metadata, lossless(width: 4, height: 3))

        #expect(try inspect(bytes) == ImageDescription(format: .webp, width: 4, height: 3, hasMetadata: true))
    }

    @Test func canvasNeedsAImageThatFits() throws {
        #expect(try refusal(of: file(canvas))?.kind == .notImage)
        #expect(try refusal(of: file(canvas, lossless(width: 5, height: 3)))?.kind == .notImage)
        #expect(try refusal(of: file(canvas, lossless(width: 4, height: 4)))?.kind == .notImage)
        #expect(try refusal(of: file(canvas, lossless(width: 16_384, height: 16_384)))?.kind == .notImage)
    }

    @Test func losslessSidesHave14UnsignedBits() throws {
        let bytes = file(lossless(width: 16_384, height: 16_384))

        #expect(try inspect(bytes, maximumPixels: .max).height == 16_384)
        #expect(try refusal(of: bytes)?.kind == .tooManyPixels)
    }

    @Test func imageWithoutItsSignatureIsRefused() throws {
        #expect(try refusal(of: file(chunk("VP8L", [0x30, 0, 0, 0, 0])))?.kind == .notImage)
        #expect(try refusal(of: file(chunk("VP8 ", Array(repeating: 0, count: 16))))?.kind == .notImage)
        #expect(try refusal(of: file(chunk("ABCD", [1, 2])))?.kind == .notImage)
        #expect(try refusal(of: file())?.kind == .notImage)
    }

    @Test func lossyImageMustBeAKeyFrame() throws {
        let bytes = try ImageFixture.named("webp-lossy.webp")

        #expect(try refusal(of: bytes.writing([bytes[20] | 1], at: 20))?.kind == .notImage)
    }

    @Test func statedLengthMustMatchTheChunks() throws {
        let bytes = try ImageFixture.named("webp-lossy.webp")
        let stated = UInt32(bytes.count - 8)

        #expect(try refusal(of: bytes.writing(.littleEndian(stated + 1), at: 4))?.kind == .truncated)
        #expect(try refusal(of: bytes.writing(.littleEndian(stated - 2), at: 4))?.kind == .truncated)
    }
}
