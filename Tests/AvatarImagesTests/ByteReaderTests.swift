import AvatarCore
import Testing

@testable import AvatarImages

@Suite(.timeLimit(.minutes(5)))
struct ByteReaderTests {
    @Test(arguments: ImageFixture.all)
    func smallImageCostsOneRead(fixture: ImageFixture) throws {
        let source = CountingByteSource(try fixture.bytes())

        _ = try ImageInspector(maximumPixels: .max, allowsSVG: true).inspect(source)

        #expect(source.reads == 1)
    }

    @Test func readsIntegersAcrossTheEdgeOfTheWindow() throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var reader = ByteReader(ByteArraySource(bytes))

        for offset in [0, 65_533, 65_534, 131_069, 199_996, 3, 65_535] {
            let expected = bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int64($1) }
            #expect(try reader.uint32(at: Int64(offset)) == expected)
        }
    }

    @Test func readsBothByteOrders() throws {
        var reader = ByteReader(ByteArraySource([0x12, 0x34, 0x56, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF]))

        #expect(try reader.integer(at: 0, byteCount: 3) == 0x123456)
        reader.byteOrder = .littleEndian
        #expect(try reader.uint16(at: 0) == 0x3412)
        #expect(try reader.int32(at: 3) == -2)
        #expect(try reader.integer(at: 0, byteCount: 8) == .max)
    }

    @Test(arguments: [5, 8, 9, Int64.max])
    func refusesToReadBeyondTheEnd(offset: Int64) {
        var reader = ByteReader(ByteArraySource([1, 2, 3, 4, 5, 6, 7, 8]))

        #expect(throws: ImageRejection.self) { try reader.uint32(at: offset) }
    }

    @Test func searchStaysInItsRange() throws {
        let bytes = [UInt8](repeating: 0, count: 70_000) + [7, 0, 7]
        var reader = ByteReader(ByteArraySource(bytes))

        #expect(try reader.offset(of: 7, from: 5) == 70_000)
        #expect(try reader.offset(of: 7, from: 70_001) == 70_002)
        #expect(try reader.offset(of: 7, from: 0, to: 70_000) == nil)
        #expect(try reader.offset(of: 9, from: 0) == nil)
    }
}
