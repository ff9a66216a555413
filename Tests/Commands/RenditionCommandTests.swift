import AvatarContacts
import AvatarStore
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `--size`, `--format`, `--square` and `--max-bytes`, with the helper that is built beside the program.
@Suite(.timeLimit(.minutes(5))) struct RenditionCommandTests {
    /// Runs `body` with a store that has the image of Ada.
    private func withAda(_ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(.image(SampleImage.png(seed: 1, byteCount: 60_000)), for: "/ada.png")
        let list = #"[{"id": "ada; 1", "name": "Ada, Countess\nLovelace", "avatarURL": "\#(origin.url("/ada.png"))"}]"#
        try workplace.write("people.json", list)
        try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
        try await origin.stop()
        try await body(workplace)
        let verification = try await workplace.run("verify")
        #expect(verification.status == 0)
    }

    /// The width and height in the header of a PNG file.
    private func pngSize(_ bytes: [UInt8]) -> [Int] {
        [16, 20].map { place in bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    @Test func getWritesARendition() async throws {
        try await withAda { workplace in
            let png = try await workplace.run("get", "--contact", "ada; 1", "--size", "33", "--square")
            let jpeg = try await workplace.run("get", "--contact", "ada; 1", "--size", "64", "--format", "jpeg")
            let webp = try await workplace.run("get", "--contact", "ada; 1", "--format", "webp", "--max-bytes", "4kB")

            #expect(png.bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) && pngSize(png.bytes) == [48, 48])
            #expect(jpeg.bytes.starts(with: [0xFF, 0xD8, 0xFF]))
            #expect(webp.bytes.starts(with: "RIFF".utf8) && webp.bytes.count <= 4000)
            #expect(png.messages.isEmpty && jpeg.messages.isEmpty)
        }
    }

    @Test func imageThatDoesNotFitIsAnErrorWithTheLimit() async throws {
        try await withAda { workplace in
            let run = try await workplace.run("get", "--contact", "ada; 1", "--format", "jpeg", "--max-bytes", "100")

            #expect(run.status == 1 && run.bytes.isEmpty)
            #expect(run.messages.contains("more than the limit of 100. Raise `maxBytes` (--max-bytes)."))
            // The limit on stored images is another one.
            #expect(!run.messages.contains("max-image-bytes"))
        }
    }

    @Test func pathPrintsAStoredFile() async throws {
        try await withAda { workplace in
            let first = try await workplace.run("path", "--contact", "ada; 1", "--size", "64")
            let second = try await workplace.run("path", "--contact", "ada; 1", "--size", "64", "--json")
            let original = try await workplace.run("path", "--contact", "ada; 1")

            let path = first.text.trimmingCharacters(in: .newlines)
            #expect(try workplace.read(path).count > 100 && first.text != original.text)
            #expect(second.text.contains(path) && second.text.contains(#""rendition":"png 64 inside""#))
            let missing = try await workplace.run("path", "https://example.com/none.png", "--size", "64")
            #expect(missing.status == 1)
        }
    }

    @Test func exportWritesRenditionsAndCards_andStoresNone() async throws {
        try await withAda { workplace in
            let options = ["--size", "96", "--format", "jpeg", "--max-bytes", "8kB", "--as-vcard", "--json"]
            let run = try await workplace.start(["export", "out"] + options).end()
            #expect(run.text.contains(#""cards":1"#) && run.text.contains(#""originals":0"#))

            let names = try FileManager.default.contentsOfDirectory(atPath: workplace.path("out")).sorted()
            let name = try #require(names.first { $0.hasSuffix(".jpg") })
            #expect(names.count == 3, "\(names)")
            let photo = try workplace.read("out/\(name)")
            #expect(photo.starts(with: [0xFF, 0xD8, 0xFF]) && photo.count <= 8000)
            let card = try String(decoding: workplace.read("out/contacts.vcf"), as: UTF8.self)
            #expect(card.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 75 })
            #expect(card.contains("UID:ada\\; 1\r\n") && card.contains("FN:Ada\\, Countess\\nLovelace\r\n"))
            let unfolded = card.replacingOccurrences(of: "\r\n ", with: "")
            let line = try #require(unfolded.split(separator: "\r\n").first { $0.hasPrefix("PHOTO") })
            #expect(line.hasPrefix("PHOTO;ENCODING=b;TYPE=JPEG:"))
            #expect(Data(base64Encoded: String(line.split(separator: ":")[1])) == Data(photo))
            let statistics = try await workplace.run("stats", "--json")
            #expect(statistics.text.contains(#""files":1"#))

            // A sync of the cards stores the photos for the same ids.
            let imported = try await workplace.run("sync", "out/contacts.vcf", "--store", "imported", "--json")
            #expect(imported.text.contains(#""saved":1"#))
        }
    }

    @Test func cardHasAJPEG_ifTheImageIsWebP() async throws {
        try await withAda { workplace in
            let webp = try await workplace.run(
                "export",
                "out",
                "--format",
                "webp",
                "--size",
                "96",
                "--as-vcard",
                "--json"
            )
            let plain = try await workplace.run("export", "plain", "--as-vcard", "--json")

            #expect(webp.text.contains(#""cards":1"#) && webp.text.contains(#""withoutCard":0"#), "\(webp.text)")
            let names = try FileManager.default.contentsOfDirectory(atPath: workplace.path("out"))
            #expect(names.contains { $0.hasSuffix(".webp") }, "\(names)")
            let card = try String(decoding: workplace.read("out/contacts.vcf"), as: UTF8.self)
                .replacingOccurrences(of: "\r\n ", with: "")
            let line = try #require(card.split(separator: "\r\n").first { $0.hasPrefix("PHOTO") })
            #expect(line.hasPrefix("PHOTO;ENCODING=b;TYPE=JPEG:/9j/"), "\(line.prefix(60))")
            // An original in a format of cards is in the card as it is.
            #expect(plain.text.contains(#""cards":1"#))
        }
    }

    @Test func contactWhoseImageCannotBeConverted_hasNoCard() async throws {
        try await withAda { workplace in
            let fixture = URL(filePath: #filePath)
                .appending(path: "../../AvatarImagesTests/Fixtures/images/avif-still.avif").standardized
            let avif = try Data(contentsOf: fixture).base64EncodedString()
            try workplace.write(
                "avif.vcf",
                "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ben\r\nFN:Ben\r\nPHOTO;ENCODING=b:\(avif)\r\nEND:VCARD\r\n"
            )
            try await workplace.run("sync", "avif.vcf").requireSuccess()
            let both = try await workplace.run("export", "both", "--as-vcard", "--json")

            #expect(both.text.contains(#""cards":1"#) && both.text.contains(#""withoutCard":1"#), "\(both.text)")
            #expect(both.messages.contains("1 contact without a card"), "\(both.messages)")
            #expect(try !String(decoding: workplace.read("both/contacts.vcf"), as: UTF8.self).contains("UID:ben"))
        }
    }

    @Test func mirrorOfRenditionsWarnsBeforeItsFilesBecomeOriginals() async throws {
        try await withAda { workplace in
            let mirror = ["export", "out", "--mirror", "--json"]
            let sized = try await workplace.start(mirror + ["--size", "64"]).end()
            let same = try await workplace.start(mirror + ["--size", "64"]).end()
            let preview = try await workplace.start(mirror + ["--dry-run"]).end()
            let original = try await workplace.start(mirror).end()
            let again = try await workplace.start(mirror).end()

            #expect(try sized.object.isNull("formerRendition") && same.object.number("unchanged") == 1)
            #expect(try preview.object.text("formerRendition")?.hasSuffix(" 64 inside") == true, "\(preview.text)")
            #expect(preview.messages.contains("would become originals") && preview.messages.contains("give --size and"))
            #expect(original.messages.contains("are now originals"), "\(original.messages)")
            #expect(try original.object.number("written") == 1 && again.object.isNull("formerRendition"))
            #expect(!again.messages.contains("originals"))
        }
    }

    @Test func originalOfAnUndecodableImageIsUsed_withAWarning() async throws {
        try await withAda { workplace in
            let bmp: [UInt8] =
                Array("BM".utf8) + [
                    58, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 24, 0, 0, 0, 0, 0,
                    4, 0, 0, 0,
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0,
                ]
            try Data(bmp).write(to: URL(filePath: workplace.path("dot.bmp")))
            try await workplace.run("save", "dot.bmp", "--name", "dot").requireSuccess()

            let run = try await workplace.run("get", "name:dot", "--size", "64")

            #expect(run.bytes == bmp && run.status == 0)
            #expect(run.messages.contains("Using the original: "))
            let path = try await workplace.run("path", "name:dot", "--size", "64", "--json")
            #expect(path.text.contains(#""rendition":"original""#))
        }
    }

    @Test(arguments: [["--size", "0"], ["--size", "4097"], ["--max-bytes", "0"], ["--format", "gif"]])
    func invalidOptionIsAUsageError(options: [String]) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(["get", "name:a"] + options).end()
        #expect(run.status == 64)
        #expect(!workplace.exists("store"))
    }
}
