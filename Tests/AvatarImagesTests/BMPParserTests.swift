import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BMPParserTests {
    private let bytes: [UInt8]

    init() throws {
        bytes = try ImageFixture.named("bmp-info-header.bmp")
    }

    @Test func negativeHeightIsAccepted() throws {
        #expect(try inspect(bytes.writing(.littleEndian(Int32(-30)), at: 22)) == inspect(bytes))
    }

    @Test func negativeWidthIsRefused() throws {
        #expect(try refusal(of: bytes.writing(.littleEndian(Int32(-40)), at: 18))?.kind == .notImage)
    }

    @Test func pixelsMustBeCompleteEvenIfTheFileStatesNoLength() throws {
        let silent = bytes.writing(.littleEndian(UInt32(0)), at: 2)

        #expect(try refusal(of: silent) == nil)
        #expect(try refusal(of: Array(silent.dropLast()))?.kind == .truncated)
    }

    @Test func fileShorterThanItsStatedLengthIsTruncated() throws {
        let longer = bytes.writing(.littleEndian(UInt32(bytes.count + 1)), at: 2)

        #expect(try refusal(of: longer)?.kind == .truncated)
    }

    @Test(arguments: [Int32.max, Int32.min])
    func overflowingSizeIsTruncated(height: Int32) throws {
        let large = bytes.writing(.littleEndian(Int32.max), at: 18).writing(.littleEndian(height), at: 22)

        #expect(try refusal(of: large.writing(.littleEndian(UInt16(64)), at: 28))?.kind == .truncated)
    }

    @Test func compression3IsAFaxCodeInAnOS2Header() throws {
        // 500 x 500 pixels of one bit in 4 bytes. In a Windows header, compression 3 would mean uncompressed pixels.
        let header: [UInt8] =
            .littleEndian(UInt32(64)) + .littleEndian(UInt32(500)) + .littleEndian(UInt32(500)) + [
                1, 0, 1, 0, 3, 0, 0, 0,
            ]
            + .littleEndian(UInt32(4)) + [UInt8](repeating: 0, count: 40)
        let fax =
            Array("BM".utf8) + [UInt8](repeating: 0, count: 8) + .littleEndian(UInt32(78)) + header + [1, 2, 3, 4]

        #expect(try inspect(fax) == ImageDescription(format: .bmp, width: 500, height: 500))
        #expect(try refusal(of: Array(fax.dropLast()))?.kind == .truncated)
    }

    @Test(arguments: [0, 3, 255] as [UInt16])
    func unknownBitsPerPixelIsRefused(bits: UInt16) throws {
        #expect(try refusal(of: bytes.writing(.littleEndian(bits), at: 28))?.kind == .notImage)
    }

    @Test func paletteMustFitIntoTheFile() throws {
        let palette = try ImageFixture.named("bmp-rle8.bmp")

        #expect(try refusal(of: palette.writing(.littleEndian(UInt32(16)), at: 46)) == nil)
        #expect(try refusal(of: palette.writing(.littleEndian(UInt32(305_402_420)), at: 46))?.kind == .notImage)
        #expect(try refusal(of: bytes.writing(.littleEndian(UInt32(305_402_420)), at: 46))?.kind == .notImage)
        #expect(try refusal(of: bytes.writing(.littleEndian(UInt32.max), at: 46))?.kind == .notImage)
    }

    @Test func unknownHeaderSizeIsNoBitmap() throws {
        #expect(try refusal(of: bytes.writing([41], at: 14))?.message.contains("no known image format") == true)
    }
}
