import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JPEG2000ParserTests {
    private let codestream: [UInt8]
    /// Where the first tile-part's marker is; its length follows 6 bytes later.
    private let tile: Int

    init() throws {
        codestream = try ImageFixture.named("jpeg2000-codestream.j2k")
        tile = try #require(codestream.offsets(of: [0xFF, 0x90]).first)
    }

    @Test func lastTilePartMayStateNoLength() throws {
        let open = codestream.writing(.bigEndian(UInt32(0)), at: tile + 6)

        #expect(try inspect(open) == inspect(codestream))
        #expect(try refusal(of: Array(open.dropLast()))?.kind == .truncated)
        #expect(try refusal(of: Array(open.dropLast(2)))?.kind == .truncated)
    }

    @Test func tilePartMustHaveItsStatedLength() throws {
        #expect(try refusal(of: codestream.writing(.bigEndian(UInt32.max), at: tile + 6))?.kind == .truncated)
        #expect(try refusal(of: codestream.writing(.bigEndian(UInt32(11)), at: tile + 6))?.kind == .notImage)
        #expect(try refusal(of: codestream.writing([0xFF, 0x91], at: tile))?.kind != nil)
    }

    @Test func offsetOfTheImageReducesItsSize() throws {
        let moved = codestream.writing(.bigEndian(UInt32(10)) + .bigEndian(UInt32(5)), at: 16)
        let beyond = codestream.writing(.bigEndian(UInt32(40)), at: 16)

        #expect(try inspect(moved) == ImageDescription(format: .jpeg2000, width: 30, height: 25, hasMetadata: true))
        #expect(try refusal(of: beyond)?.kind == .notImage)
    }

    @Test func boxMustContainTheEndMarker() throws {
        let bytes = try ImageFixture.named("jpeg2000-box.jp2")
        let box = try #require(bytes.offset(of: "jp2c")) - 4
        let shorter = Array(bytes.writing(.bigEndian(UInt32(bytes.count - box - 2)), at: box).dropLast(2))

        #expect(try refusal(of: shorter)?.kind == .truncated)
        #expect(try refusal(of: bytes.writing(.bigEndian(UInt32(0)), at: box)) == nil)
        #expect(try refusal(of: Array(bytes.prefix(box)))?.kind == .truncated)
    }
}
