import AvatarStore
import AvatarStoreTesting
import Testing

@testable import AvatarFrontEnds

/// The previews that the scanner finds in arriving images.
@Suite(.timeLimit(.minutes(5)))
struct PreviewScannerTests {
    private struct Prefix: ByteSource {
        let bytes: [UInt8]
        let byteCount: Int

        func bytes(at offset: Int, count: Int) -> [UInt8] {
            Array(bytes[offset..<min(byteCount, offset + count)])
        }
    }

    /// The lengths of the previews of a file that arrives in chunks of `step` bytes.
    private func previews(_ bytes: [UInt8], step: Int, total: Int?) throws -> [Int] {
        var scanner = PreviewScanner()
        var lengths: [Int] = []
        for count in Array(stride(from: step, to: bytes.count, by: step)) + [bytes.count] {
            let prefix = Prefix(bytes: bytes, byteCount: count)
            guard let length = try scanner.advance(prefix, total: total) else { continue }
            #expect(length <= count)
            lengths.append(length)
        }
        #expect(lengths == lengths.sorted() && Set(lengths).count == lengths.count)
        return lengths
    }

    @Test func progressiveJPEGIsDrawnAfterEachScan() throws {
        let bytes = try Images.named("progressive.jpg")
        // Pillow writes ten scans. Each ends where the marker before the next one starts.
        let previews = try previews(bytes, step: 1, total: bytes.count)
        #expect(previews.count == 10)
        for length in previews {
            #expect(bytes[length] == 0xFF && [0xDA, 0xC4, 0xD9].contains(bytes[length + 1]))
        }
        // In chunks as from a network, the scanner finds the same ends, but several in one call count as one.
        for step in [7, 100, 1000] {
            #expect(Set(try self.previews(bytes, step: step, total: nil)).isSubset(of: previews))
        }
        #expect(try self.previews(bytes, step: 100, total: nil).count > 4)
    }

    @Test func baselineJPEGHasNoPreview() throws {
        #expect(try previews(Images.named("baseline.jpg"), step: 1, total: nil) == [])
    }

    @Test(arguments: [nil, true]) func interlacedPNGIsDrawnAtEachDoubling(knowsTotal: Bool?) throws {
        let bytes = try Images.named("interlaced.png")
        let previews = try previews(bytes, step: 1, total: knowsTotal.map { _ in bytes.count })
        #expect((5...7).contains(previews.count))
        #expect(zip(previews, previews.dropFirst()).allSatisfy { $1 == 2 * $0 })
        #expect(previews.allSatisfy { $0 < bytes.count })
    }

    @Test func plainPNGHasNoPreview() throws {
        #expect(try previews(Images.face(1), step: 1, total: nil) == [])
    }

    @Test func interlacedGIFIsDrawnAtEachDoubling() throws {
        let bytes = try Images.named("interlaced.gif")
        let previews = try previews(bytes, step: 1, total: bytes.count)
        #expect((2...4).contains(previews.count))
        // Each ends behind a sub-block, so the next byte is the length of the next sub-block.
        for length in previews { #expect(bytes[length] > 0 && length + 1 + Int(bytes[length]) < bytes.count) }
    }

    @Test func plainGIFHasNoPreview() throws {
        var bytes = try Images.named("interlaced.gif")
        let descriptor = try #require(
            bytes.indices.first { bytes[$0...].starts(with: [0x2C, 0, 0, 0, 0, 96, 0, 96, 0]) }
        )
        bytes[descriptor + 9] &= ~0x40
        #expect(try previews(bytes, step: 1, total: nil) == [])
    }

    @Test func garbageAfterTheHeaderEndsTheScan() throws {
        var random = SplitMix64(seed: 3)
        for head in [
            [0xFF, 0xD8, 0xFF, 0xC2], Array("GIF89a".utf8), [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
        ] {
            for _ in 0..<200 {
                let noise = (0..<500).map { _ in UInt8.random(in: 0...255, using: &random) }
                _ = try previews(head + noise, step: 13, total: nil)
            }
        }
    }
}
