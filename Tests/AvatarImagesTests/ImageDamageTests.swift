import AvatarImages
import Testing

/// Damaged files are accepted or refused, but never crash a parser or make it read the file many times.
@Suite(.timeLimit(.minutes(5)))
struct ImageDamageTests {
    @Test(arguments: ImageFixture.all)
    func survivesEveryByteChanged(fixture: ImageFixture) throws {
        let bytes = try fixture.bytes()
        let inspector = ImageInspector(maximumPixels: .max, allowsSVG: true)

        let costly = bytes.indices.filter { index in
            var changed = bytes
            changed[index] ^= 0xFF
            let source = CountingByteSource(changed)
            // Only the reads matter here, not the verdict.
            _ = try? inspector.inspect(source)
            return source.bytesRead > 2 * bytes.count
        }

        #expect(costly == [])
    }

    @Test(arguments: ImageFixture.all)
    func survivesRandomBytesAfterItsStart(fixture: ImageFixture) throws {
        var random = SeededGenerator(seed: 0x5EED)
        let bytes = try fixture.bytes()

        for _ in 0..<150 {
            let kept = Int.random(in: 1...min(96, bytes.count), using: &random)
            let tail = (0..<Int.random(in: 0...400, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try refusal(of: bytes.prefix(kept) + tail, maximumPixels: .max)
        }
    }

    @Test(arguments: ImageFixture.all, [0x00, 0x7F, 0xFF] as [UInt8])
    func survivesExtremeNumbersInItsHeaders(fixture: ImageFixture, byte: UInt8) throws {
        let bytes = try fixture.bytes()

        for start in stride(from: 0, to: min(bytes.count - 8, 320), by: 2) {
            for count in [4, 8] {
                var changed = bytes
                changed.replaceSubrange(start..<(start + count), with: repeatElement(byte, count: count))
                _ = try refusal(of: changed, maximumPixels: .max)
            }
        }
    }
}
