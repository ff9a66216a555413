import AvatarCore
import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ImageInspectorTests {
    @Test(arguments: ImageFixture.all)
    func recognisesFormatAndSize(fixture: ImageFixture) throws {
        #expect(try inspect(fixture.bytes()) == fixture.description)
    }

    @Test(arguments: ImageFixture.all)
    func acceptsExactlyTheLimitOfPixels(fixture: ImageFixture) throws {
        let bytes = try fixture.bytes()
        let pixels = fixture.uncroppedPixelCount ?? fixture.width * fixture.height

        #expect(try refusal(of: bytes, maximumPixels: pixels) == nil)
        #expect(try refusal(of: bytes, maximumPixels: pixels - 1)?.kind == .tooManyPixels)
    }

    @Test func overflowingPixelCountExceedsAnyLimit() throws {
        let bytes = try ImageFixture.named("png-rgb.png").writing(Array(repeating: 0xFF, count: 8), at: 16)

        #expect(try refusal(of: bytes, maximumPixels: .max)?.kind == .tooManyPixels)
    }

    @Test(arguments: [16, 20])
    func imageWithoutPixelsIsRefused(side: Int) throws {
        let bytes = try ImageFixture.named("png-rgb.png").writing(.bigEndian(UInt32(0)), at: side)

        #expect(try refusal(of: bytes)?.kind == .notImage)
    }

    @Test(arguments: [
        "", " ", "no image at all", "BMW is a maker of cars and motorcycles", "{\"error\": \"not found\"}",
        "<!DOCTYPE html><html><body>Not found</body></html>", "<html><svg></svg></html>",
        "<?xml version=\"1.0\"?><error>404</error>", "<!-- an end is missing", "GIF88a, RIFF and PNG",
        "\u{0}\u{0}\u{0}\u{18}ftypisom\u{0}\u{0}\u{2}\u{0}isomiso2avc1mp41\u{0}\u{0}\u{0}\u{8}free",
        "RIFF\u{24}\u{0}\u{0}\u{0}WAVEfmt \u{10}\u{0}\u{0}\u{0}", "%PDF-1.7\n", "\u{1F}\u{8}",
    ])
    func otherBytesAreRefused(text: String) throws {
        #expect(try refusal(of: Array(text.utf8))?.kind == .notImage)
    }

    @Test func cursorIsRefused() throws {
        var bytes = try ImageFixture.named("ico-imagemagick.ico")
        bytes[2] = 2

        #expect(try refusal(of: bytes)?.kind == .notImage)
    }

    @Test func refusalOfAnSVGNamesTheFormat() throws {
        let rejection = try refusal(of: ImageFixture.named("svg-cairo.svg"), allowsSVG: false)

        #expect(rejection?.kind == .notImage)
        #expect(rejection?.message.contains("SVG") == true)
    }

    @Test func rethrowsTheErrorsOfItsSource() {
        struct Unreadable: ByteSource, Error {
            let byteCount = 100
            func bytes(at offset: Int, count: Int) throws -> [UInt8] { throw self }
        }

        #expect(throws: Unreadable.self) {
            try ImageInspector(maximumPixels: 1, allowsSVG: false).inspect(Unreadable())
        }
    }

    @Test(arguments: ImageFixture.all)
    func fileExtensionFollowsTheFormat(fixture: ImageFixture) {
        let spellings = ["j2k": "jp2"]
        let spelling = fixture.name.split(separator: ".").last.map(String.init) ?? ""

        #expect(fixture.format.fileExtension == spellings[spelling, default: spelling])
        #expect(fixture.format.mediaType.hasPrefix("image/"))
    }

    @Test func unknownFormatHasTheExtensionIMG() {
        #expect(ImageFormat(rawValue: "image/x-unheard-of").fileExtension == "img")
    }
}
