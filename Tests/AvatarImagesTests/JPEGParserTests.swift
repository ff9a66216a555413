import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JPEGParserTests {
    private let baseline: [UInt8]
    /// The offset of the frame header's marker.
    private let frame: Int
    /// The offset of the scan's marker.
    private let scan: Int

    init() throws {
        baseline = try ImageFixture.named("jpeg-baseline.jpg")
        frame = try #require(baseline.offsets(of: [0xFF, 0xC0]).first)
        scan = try #require(baseline.offsets(of: [0xFF, 0xDA]).first)
    }

    @Test func endOfAThumbnailIsNotTheEndOfTheImage() throws {
        let bytes = try ImageFixture.named("jpeg-exif-thumbnail.jpg")
        let ends = bytes.offsets(of: [0xFF, 0xD9])
        let frame = try #require(bytes.offsets(of: [0xFF, 0xC0]).last)

        #expect(ends.count == 2 && ends[0] < frame, "the thumbnail is before the picture")
        #expect(try refusal(of: Array(bytes.prefix(ends[0] + 2)))?.kind == .truncated)
        #expect(try refusal(of: Array(bytes.dropLast(2)))?.kind == .truncated)
    }

    @Test func markersMayHaveFillBytes() throws {
        let filled = [0xFF, 0xFF, 0xFF] as [UInt8]
        let bytes = baseline.inserting(filled, at: baseline.count - 2).inserting(filled, at: frame)

        #expect(try inspect(bytes) == inspect(baseline))
    }

    @Test func scanMayBeLongerThanAWindow() throws {
        let data = Array(repeatElement([0x12, 0xFF, 0x00, 0xFF, 0xD3, 0x34, 0x56] as [UInt8], count: 50_000).joined())
        let bytes = baseline.inserting(data, at: baseline.count - 2)
        let source = CountingByteSource(bytes)

        let description = try ImageInspector(maximumPixels: 1200, allowsSVG: false).inspect(source)

        #expect(description.width == 40)
        #expect(source.bytesRead <= bytes.count + 16)
        #expect(try refusal(of: Array(bytes.dropLast(1)))?.kind == .truncated)
    }

    @Test func secondStartMarkerMeansThatTheFirstImageIsTruncated() throws {
        let open = Array(baseline.dropLast(2))
        let second = open + [UInt8](repeating: 0, count: 70_000) + [0xFF, 0xD9]

        #expect(try refusal(of: second) == nil)
        #expect(try refusal(of: open + second)?.kind == .truncated)
    }

    @Test func imageWithoutFrameOrScanIsRefused() throws {
        let end: [UInt8] = [0xFF, 0xD9]

        #expect(try refusal(of: baseline.prefix(frame) + end)?.kind == .notImage)
        #expect(try refusal(of: baseline.prefix(scan) + end)?.kind == .notImage)
        #expect(try refusal(of: baseline[..<2] + Array(baseline[scan...]))?.kind == .notImage)
    }

    @Test func secondFrameHeaderIsRefused() throws {
        let header: [UInt8] = [0xFF, 0xC0, 0, 8, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0]

        #expect(try refusal(of: baseline.inserting(header, at: scan))?.kind == .notImage)
    }

    @Test(arguments: [0, 1, 7] as [UInt8])
    func tooShortSegmentIsRefused(length: UInt8) throws {
        #expect(try refusal(of: baseline.writing([0, length], at: frame + 2))?.kind == .notImage)
    }
}
