import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ICOParserTests {
    private let bytes: [UInt8]

    init() throws {
        bytes = try ImageFixture.named("ico-png-sizes.ico")
    }

    /// The offset of the image that directory entry `index` points to.
    private func image(_ index: Int) -> Int {
        bytes[(6 + 16 * index + 12)...].prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    @Test func directoryEntryOf0Means256Pixels() throws {
        #expect(bytes[6 + 32] == 0)
        #expect(try inspect(bytes).width == 256)
    }

    @Test func sizeComesFromTheImageNotItsEntry() throws {
        let large = bytes.writing(.bigEndian(UInt32(20_000)) + .bigEndian(UInt32(30_000)), at: image(0) + 16)

        #expect(try refusal(of: large)?.kind == .tooManyPixels)
    }

    @Test(arguments: [0, 257, UInt16.max])
    func emptyOrTooLongDirectoryIsRefused(count: UInt16) throws {
        #expect(try refusal(of: bytes.writing(.littleEndian(count), at: 4))?.kind == .notImage)
    }

    @Test func everyImageMustBeComplete() throws {
        let beyond = UInt32(bytes.count - 39)

        #expect(try refusal(of: bytes.writing(.littleEndian(beyond), at: 6 + 12))?.kind == .truncated)
        #expect(try refusal(of: bytes.writing(.littleEndian(UInt32.max), at: 6 + 8))?.kind == .truncated)
    }

    @Test func invalidImageIsRefused() throws {
        #expect(try refusal(of: bytes.writing([0x88], at: image(1)))?.kind == .notImage)
        #expect(try refusal(of: bytes.writing(.littleEndian(UInt32(6)), at: 6 + 12))?.kind == .notImage)
        #expect(try refusal(of: bytes.writing(.littleEndian(UInt32(39)), at: 6 + 8))?.kind == .notImage)
    }

    @Test func bitmapMustHoldItsHeader() throws {
        let icon = try ImageFixture.named("ico-v5-header.ico")

        #expect(try inspect(icon) == ImageDescription(format: .ico, width: 40, height: 30))
        #expect(try refusal(of: icon.writing(.littleEndian(UInt32(123)), at: 6 + 8))?.kind == .notImage)
        #expect(try refusal(of: icon.writing(.littleEndian(UInt32(64)), at: 22))?.kind == .notImage)
    }

    @Test func manyDistantImagesCostFewReads() throws {
        let count = 256
        let distance = 5000
        let image = [40, 0, 0, 0, 16, 0, 0, 0, 32, 0, 0, 0] + [UInt8](repeating: 0, count: distance - 12)
        let entries = (0..<count).map { index in
            [16, 16, 0, 0, 1, 0, 32, 0] + .littleEndian(UInt32(40))
                + .littleEndian(UInt32(6 + 16 * count + index * distance))
        }
        let source = CountingByteSource(
            [0, 0, 1, 0] + .littleEndian(UInt16(count)) + Array(entries.joined())
                + Array(repeatElement(image, count: count).joined())
        )

        _ = try ImageInspector(maximumPixels: 256, allowsSVG: false).inspect(source)

        #expect(source.bytesRead <= 2 * count * 4096 + 65_536)
    }
}
