import AvatarCore
import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ImageTruncationTests {
    @Test(arguments: ImageFixture.all)
    func everyPrefixIsRefused(fixture: ImageFixture) throws {
        let bytes = try fixture.bytes()
        // An SVG is recognised once its root element is complete; before that it is unknown text.
        let known = fixture.format == .svg ? try #require(bytes.offset(of: "<svg ")) + 5 : 1

        let misjudged = try (0..<(fixture.neededByteCount ?? bytes.count)).filter { count in
            try refusal(of: Array(bytes.prefix(count)))?.kind != (count < known ? .notImage : .truncated)
        }

        #expect(misjudged == [])
    }

    @Test(arguments: ImageFixture.all, ["\n", "and some more bytes", "\0\0\0\0\0\0\0\0\0\0", "\0\0\0\u{4}tail"])
    func trailingBytesAreAllowed(fixture: ImageFixture, tail: String) throws {
        var description = try inspect(fixture.bytes() + Array(tail.utf8))
        // They count as metadata where the end of the image is known.
        description.hasMetadata = fixture.hasMetadata

        #expect(description == fixture.description)
    }

    @Test(arguments: ["avif-still.avif", "heic-still.heic", "jpeg2000-box.jp2"])
    func trailingBoxIsAllowed(name: String) throws {
        let bytes = try ImageFixture.named(name) + .bigEndian(UInt32(12)) + Array("freefree".utf8)

        #expect(try refusal(of: bytes) == nil)
    }

    @Test func sourceShorterThanItsStatedLengthIsRefused() throws {
        struct Shortened: ByteSource {
            let bytes: [UInt8]
            var byteCount: Int { bytes.count + 100 }
            func bytes(at offset: Int, count: Int) -> [UInt8] { Array(bytes.dropFirst(offset).prefix(count)) }
        }
        let source = Shortened(bytes: try ImageFixture.named("jpeg-baseline.jpg").dropLast(2))

        #expect(throws: ImageRejection.self) {
            try ImageInspector(maximumPixels: .max, allowsSVG: false).inspect(source)
        }
    }
}
