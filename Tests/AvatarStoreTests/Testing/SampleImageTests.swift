import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SampleImageTests {
    @Test(arguments: [108, 109, 110, 111, 200, 8192, 65_620, 65_640, 131_200, 300_000])
    func pngHasExactlyTheBytesAskedFor(byteCount: Int) throws {
        let bytes = SampleImage.png(seed: 7, byteCount: byteCount)
        let image = try PNGStructure(bytes)

        #expect(bytes.count == byteCount)
        #expect(image.types == ["IHDR", "IDAT", "IDAT", "IEND"])
        #expect(image.rows.count == image.height * (1 + image.width * 3))
    }

    @Test func pngIsNeverShorterThanItsMinimum() {
        #expect(SampleImage.png(seed: 1, byteCount: -1).count == SampleImage.minimumPNGByteCount)
    }

    @Test(arguments: [(-1, 6), (6, 6), (7, 7), (120, 120), (121, 121)])
    func identiconIsAMirroredImageInThreeColours(side: Int, expected: Int) throws {
        let image = try PNGStructure(SampleImage.identicon(for: "ada", side: side))

        #expect(image.types == ["IHDR", "PLTE", "IDAT", "IDAT", "IEND"])
        #expect([image.width, image.height] == [expected, expected])
        let pixels = image.twoBitPixels()
        #expect(pixels.count == expected)
        #expect(Set(pixels.joined()) == [0, 1, 2])
        // With an odd remainder the right margin is a pixel wider than the left one.
        let square = expected / 6
        let margin = (expected - 5 * square) / 2
        for row in pixels {
            let inner = row[margin..<(margin + 5 * square)]
            #expect(Array(inner) == inner.reversed())
        }
    }

    @Test func identiconIsTwoToFourKilobytes() {
        #expect((2000...4000).contains(SampleImage.identicon(for: "ada").count))
    }

    @Test func gifHoldsAllItsPixelsInFramedBlocks() throws {
        let bytes = SampleImage.gif(seed: 3)
        #expect(bytes.starts(with: Array("GIF89a".utf8) + [32, 0, 32, 0]))
        #expect(bytes.last == 0x3B)
        // Header and screen 13, palette 384, image descriptor 10, code size 1.
        var position = 13 + 384 + 10
        #expect(bytes[position] == 7)
        position += 1
        var pixels = 0
        while bytes[position] != 0 {
            let block = bytes[(position + 1)...].prefix(Int(bytes[position]))
            #expect(block.first == 128 || Array(block) == [129])
            pixels += block.filter { $0 < 128 }.count
            position += 1 + block.count
        }
        #expect(pixels == 32 * 32)
        #expect(position == bytes.count - 2)
    }

    @Test func bmpStatesItsLength() {
        let bytes = SampleImage.bmp(seed: 3)
        #expect(bytes.starts(with: [0x42, 0x4D, 0x36, 0x03, 0, 0]))
        #expect(bytes.count == 0x336)
    }

    @Test func seedsGiveDistinctAndRepeatableImages() {
        let makers: [(UInt64) -> [UInt8]] = [
            { SampleImage.identicon(for: "person \($0)") },
            { SampleImage.png(seed: $0, byteCount: 300) },
            { SampleImage.gif(seed: $0) },
            { SampleImage.bmp(seed: $0) },
        ]
        for maker in makers {
            #expect(Set((0..<200).map(maker)).count == 200)
            #expect(maker(5) == maker(5))
        }
    }
}
