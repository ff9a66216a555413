import AvatarImages
import Testing

/// The verdict on the first bytes of a file, before the rest has arrived.
@Suite(.timeLimit(.minutes(5)))
struct ImagePrefixTests {
    @Test(arguments: ImageFixture.all)
    func everyPrefixOfAnImageIsAccepted(fixture: ImageFixture) throws {
        let bytes = try fixture.bytes()

        let refused = (0...min(bytes.count, 600)).filter { !ImageInspector.couldBeImage(prefix: bytes.prefix($0)) }

        #expect(refused == [])
    }

    @Test(arguments: [
        "<!doctype html>", "<!DOCTYPE html>", "\n  <html lang=\"en\">", "<?xml version=\"1.0\"?><html ", "{\"error\"",
        "[]", "no image", "Not found", "BM, as two letters that begin a text", "RIFF\u{24}\u{0}\u{0}\u{0}WAVE",
        "<!-- moved --><head>", "<error>", "<!ELEMENT svg>", "GIF88a", "%PDF",
        "\u{0}\u{0}\u{0}\u{18}ftypisom\u{0}\u{0}\u{2}\u{0}isomiso2avc1mp41",
    ])
    func otherTextIsRefused(text: String) {
        #expect(!ImageInspector.couldBeImage(prefix: Array(text.utf8)[...]))
    }

    @Test(arguments: [
        "<!DOC", "<", "<?xml version=", "<!-- a comment", "<svg", "<s", "\u{FEFF}", "\n\n", "<!DOCTYPE s",
    ])
    func prefixOfAnSVGIsAccepted(text: String) {
        #expect(ImageInspector.couldBeImage(prefix: Array(text.utf8)[...]))
    }

    @Test func searchForABrandEndsAfter512Bytes() {
        let brands = [UInt8].box("ftyp", Array(String(repeating: "isom", count: 1000).utf8))

        #expect(ImageInspector.couldBeImage(prefix: brands.prefix(500)))
        #expect(!ImageInspector.couldBeImage(prefix: brands.prefix(600)))
    }
}
