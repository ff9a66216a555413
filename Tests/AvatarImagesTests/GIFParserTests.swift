import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct GIFParserTests {
    /// A header with a screen of 4 x 3 pixels and no color table.
    private let screen = Array("GIF89a".utf8) + [4, 0, 3, 0, 0, 0, 0]
    private let trailer: [UInt8] = [0x3B]

    /// An image block at the top left with two sub-blocks of data. The data contains 0x3B, the code of a trailer.
    private func image(width: UInt8, height: UInt8, flags: UInt8 = 0, table: Int = 0) -> [UInt8] {
        [0x2C, 0, 0, 0, 0, width, 0, height, 0, flags] + Array(repeating: 0x3B, count: table) + [
            2, 1, 0x3B, 1, 0x3B, 0,
        ]
    }

    @Test func localColorTableIsSkipped() throws {
        let bytes = screen + image(width: 4, height: 3, flags: 0x81, table: 12) + trailer

        #expect(try inspect(bytes) == ImageDescription(format: .gif, width: 4, height: 3))
        #expect(try refusal(of: Array(bytes.dropLast()))?.kind == .truncated)
    }

    @Test func imageBeyondTheScreenEnlargesTheCanvas() throws {
        let bytes = screen + image(width: 9, height: 2) + image(width: 1, height: 8) + trailer

        #expect(try inspect(bytes) == ImageDescription(format: .gif, width: 9, height: 8))
    }

    @Test func strayEndOfDataIsSkipped() throws {
        #expect(try refusal(of: screen + image(width: 4, height: 3) + [0] + trailer) == nil)
    }

    @Test func fileWithoutAnImageBlockIsRefused() throws {
        let comment: [UInt8] = [0x21, 0xFE, 1, 0x2C, 0]

        #expect(try refusal(of: screen + comment + trailer)?.kind == .notImage)
        #expect(try refusal(of: screen + [0x55] + trailer)?.kind == .notImage)
    }
}
