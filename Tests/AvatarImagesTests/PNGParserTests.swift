import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PNGParserTests {
    private let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private func chunk(_ name: String, _ data: [UInt8] = []) -> [UInt8] {
        .bigEndian(UInt32(data.count)) + Array(name.utf8) + data + [0, 0, 0, 0]
    }

    private var header: [UInt8] {
        chunk("IHDR", .bigEndian(UInt32(3)) + .bigEndian(UInt32(2)) + [8, 0, 0, 0, 0])
    }

    @Test func headerDataAndEndMakeAnImage() throws {
        let bytes = signature + header + chunk("IDAT", [1]) + chunk("IEND")

        #expect(try inspect(bytes) == ImageDescription(format: .png, width: 3, height: 2))
    }

    @Test func manySmallChunksCostFewReads() throws {
        let bytes =
            signature + header + Array(repeatElement(chunk("IDAT", [1]), count: 20_000).joined()) + chunk("IEND")
        let source = CountingByteSource(bytes)

        _ = try ImageInspector(maximumPixels: 6, allowsSVG: false).inspect(source)

        #expect(source.bytesRead < bytes.count + 4096)
    }

    @Test func missingOrMisplacedChunkIsRefused() throws {
        let data = chunk("IDAT", [1])
        let end = chunk("IEND")

        #expect(try refusal(of: signature + data + header + end)?.kind == .notImage)
        #expect(try refusal(of: signature + header + end)?.kind == .notImage)
        #expect(try refusal(of: signature + header + chunk("IDAT") + end)?.kind == .notImage)
        #expect(try refusal(of: signature + header + data + chunk("I2AT", [1]) + end)?.kind == .notImage)
    }

    @Test func chunkBeyondTheEndIsTruncated() throws {
        let bytes = signature + header + .bigEndian(UInt32.max) + Array("IDAT".utf8) + chunk("IEND")

        #expect(try refusal(of: bytes)?.kind == .truncated)
    }
}
