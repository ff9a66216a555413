import AvatarCore
import AvatarImages
import Foundation
import Testing

/// The metadata of images, found and taken out.
@Suite(.timeLimit(.minutes(5)))
struct StrippingTests {
    /// An image to which another program added metadata, and the image before that.
    struct Addition: CustomTestStringConvertible, Sendable {
        let name: String
        let original: String
        /// The bytes of the orientation that was added too, which stay, and their place.
        var orientation: (bytes: [UInt8], place: Int)?

        var testDescription: String { name }
    }

    /// A block of EXIF with the orientation alone.
    private static func exif(_ orientation: UInt8) -> [UInt8] {
        Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]
    }

    private static let additions = [
        Addition(
            name: "jpeg-turned.jpg",
            original: "jpeg-baseline.jpg",
            orientation: ([0xFF, 0xE1, 0, 34] + Array("Exif\0\0".utf8) + exif(6), 20)
        ),
        Addition(name: "jpeg-upright.jpg", original: "jpeg-progressive.jpg"),
        Addition(name: "jpeg-adobe.jpg", original: "jpeg-cmyk.jpg"),
        Addition(
            name: "png-turned.png",
            original: "png-rgb.png",
            // The checksum is that of zlib.
            orientation: (.bigEndian(UInt32(26)) + Array("eXIf".utf8) + exif(8) + .bigEndian(0x8658_3034 as UInt32), 33)
        ),
        Addition(name: "png-text.png", original: "png-animated.png"),
        Addition(name: "gif-comment.gif", original: "gif-animated.gif"),
    ]

    private static func added(_ name: String) throws -> [UInt8] {
        let folder = Bundle.module.bundleURL.appending(path: "Fixtures/metadata")
        return try Array(Data(contentsOf: folder.appending(path: name)))
    }

    /// `bytes` without its metadata, after checks that hold for each image.
    private func strip(_ bytes: [UInt8]) throws -> [UInt8] {
        let before = try inspect(bytes)
        let view = try StrippedImage(of: ByteArraySource(bytes), as: before.format)
        let stripped = try view.bytes(at: 0, count: view.byteCount)
        let after = try inspect(stripped)
        #expect(stripped.count == view.byteCount)
        #expect(!after.hasMetadata)
        #expect((after.format, after.width, after.height) == (before.format, before.width, before.height))
        return stripped
    }

    @Test(arguments: additions) func takesOutWhatAnotherProgramAdded(addition: Addition) throws {
        let bytes = try Self.added(addition.name)
        var original = try ImageFixture.named(addition.original)
        if let orientation = addition.orientation {
            original.insert(contentsOf: orientation.bytes, at: orientation.place)
        }

        #expect(try inspect(bytes).hasMetadata)
        #expect(try strip(bytes) == original)
        #expect(try !inspect(original).hasMetadata, "the orientation alone is no metadata")
    }

    @Test(arguments: ["webp-turned.webp", "webp-frames.webp"]) func keepsTheOrientationOfWebP(name: String) throws {
        let original = try ImageFixture.named(name == "webp-turned.webp" ? "webp-lossy.webp" : "webp-animated.webp")
        let stripped = try strip(Self.added(name))

        #expect(stripped.suffix(34) == Array("EXIF".utf8) + .littleEndian(26 as UInt32) + Self.exif(3))
        #expect(stripped[20] & 0x0C == 0x08, "the header announces EXIF and no XMP")
        let chunks = original[(original[12...].starts(with: Array("VP8X".utf8)) ? 30 : 12)...]
        #expect(stripped.dropFirst(30).dropLast(34) == chunks)
    }

    @Test(arguments: ["avif-exif.avif", "heic-xmp.heic", "tiff-exif.tiff", "jpeg2000-xmp.jp2"])
    func findsMetadataThatItCannotTakeOut(name: String) throws {
        let description = try inspect(Self.added(name))

        #expect(description.hasMetadata)
        #expect(!description.format.canLoseMetadata)
        #expect(throws: ImageRejection.self) {
            try StrippedImage(of: ByteArraySource(Self.added(name)), as: description.format)
        }
    }

    @Test(arguments: ImageFixture.all) func leavesImagesWithoutMetadataAsTheyAre(fixture: ImageFixture) throws {
        let bytes = try fixture.bytes()
        let description = try inspect(bytes)
        #expect(description.hasMetadata == fixture.hasMetadata)
        guard description.format.canLoseMetadata, !description.hasMetadata else { return }

        #expect(try strip(bytes) == bytes)
    }

    /// A segment of a JPEG.
    private static func segment(_ code: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, code] + .bigEndian(UInt16(content.count + 2)) + content
    }

    @Test(arguments: [
        ("a list of further images", segment(0xE2, Array("MPF\0II*\0".utf8) + [8, 0, 0, 0])),
        ("a manifest of C2PA", segment(0xEB, Array("JP\0\u{1}jumb".utf8))),
        ("a thumbnail of JFIF", segment(0xE0, Array("JFXX\0".utf8) + [0x10, 1, 2])),
        ("an extended XMP", segment(0xE1, Array("http://ns.adobe.com/xmp/extension/\0".utf8))),
        ("a second EXIF", segment(0xE1, Array("Exif\0\0".utf8)) + segment(0xE1, Array("Exif\0\0".utf8))),
        ("a profile of another kind", segment(0xE2, Array("FPXR\0".utf8))),
        ("bytes between segments", Array("hidden".utf8)),
        ("stuffed bytes between segments", [0xFF, 0, 0xFF, 0, 0xFF, 1]),
        ("an empty comment", segment(0xFE, [])),
    ]) func takesOutSegments(name: String, segment: [UInt8]) throws {
        for fixture in ["jpeg-baseline.jpg", "jpeg-progressive.jpg"] {
            let bytes = try ImageFixture.named(fixture)
            let added = bytes.inserting(segment, at: 20)
            #expect(try inspect(added).hasMetadata, "\(name)")
            #expect(try strip(added) == bytes, "\(name)")
        }
    }

    @Test func takesOutBetweenTheScansToo() throws {
        let bytes = try ImageFixture.named("jpeg-progressive.jpg")
        let scans = bytes.offsets(of: [0xFF, 0xDA])
        #expect(scans.count > 2)

        #expect(try strip(bytes.inserting(Self.segment(0xFE, Array("hidden".utf8)), at: scans[1])) == bytes)
    }

    @Test func keepsTheProfileAndTheColourTransform() throws {
        let bytes = try ImageFixture.named("jpeg-baseline.jpg")
        let kept =
            Self.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1, 7])
            + Self.segment(
                0xEE,
                Array("Adobe".utf8) + [
                    0, 100, 0, 0, 0, 0, 1,
                ]
            )
        let withThem = bytes.inserting(kept, at: 20)

        #expect(try !inspect(withThem).hasMetadata)
        #expect(try strip(withThem + [0]) == withThem)
        let longer = bytes.inserting(Self.segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1, 42]), at: 20)
        #expect(try strip(longer) == bytes.inserting(kept.suffix(16), at: 20))
    }

    @Test func takesTheThumbnailOutOfJFIF() throws {
        let bytes = try ImageFixture.named("jpeg-baseline.jpg")
        let head = Array(bytes[6..<18])
        let thumbnail = Self.segment(0xE0, head + [1, 2] + [UInt8](repeating: 9, count: 6))

        #expect(try strip(Array(bytes[..<2]) + thumbnail + bytes[20...]) == bytes)
    }

    @Test(arguments: ["jpeg-baseline.jpg", "png-rgb.png", "gif-animated.gif", "webp-lossy.webp", "webp-animated.webp"])
    func takesOutBytesBehindTheEnd(name: String) throws {
        let bytes = try ImageFixture.named(name)

        #expect(try strip(bytes + Array("PK".utf8)) == bytes)
        #expect(try inspect(bytes + [0]).hasMetadata)
    }

    @Test(arguments: ["tEXt", "zTXt", "iTXt", "tIME", "caBX", "iDOT", "prVt", "eXIf"])
    func takesOutChunks(name: String) throws {
        let bytes = try ImageFixture.named("png-rgb.png")
        let chunk = .bigEndian(6 as UInt32) + Array(name.utf8) + Array("hidden".utf8) + [0, 0, 0, 0]

        #expect(try strip(bytes.inserting(chunk, at: 33)) == bytes)
        #expect(try strip(bytes.inserting(chunk, at: bytes.count - 12)) == bytes)
    }

    @Test func takesOutBlocksOfGIF() throws {
        let bytes = try ImageFixture.named("gif-animated.gif")
        let first = try #require(bytes.offsets(of: [0x21, 0xFF, 0x0B]).first)
        let blocks: [[UInt8]] = [
            [0x21, 0xFE, 2, 1, 2, 0], [0x21, 0x01, 1, 1, 3, 7, 7, 7, 0], [0x21, 0x99, 1, 1, 0],
            [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + [1, 1, 0],
        ]
        for block in blocks { #expect(try strip(bytes.inserting(block, at: first)) == bytes) }

        let repetitions = Array(bytes[first..<(first + 19)])
        #expect(repetitions.starts(with: [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8)))
        let longer = Array(repetitions.dropLast()) + [5, 2, 1, 2, 3, 4, 0]
        #expect(try strip(Array(bytes[..<first]) + longer + bytes[(first + 19)...]) == bytes)
    }

    @Test func takesOutChunksOfFrames() throws {
        let bytes = try ImageFixture.named("webp-animated.webp")
        let frame = try #require(bytes.offset(of: "ANMF"))
        let length = bytes[(frame + 4)..<(frame + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
        let hidden = Array("hide".utf8) + .littleEndian(3 as UInt32) + [1, 2, 3, 0]
        let riff = UInt32(bytes.count - 8 + hidden.count)
        let added = bytes.inserting(hidden, at: frame + 8 + length)
            .writing(.littleEndian(UInt32(length + hidden.count)), at: frame + 4).writing(.littleEndian(riff), at: 4)

        #expect(try inspect(added).hasMetadata)
        #expect(try strip(added) == bytes)
    }

    @Test func findsRemarksInDrawings() throws {
        func drawing(_ content: String, attribute: String = "") -> [UInt8] {
            Array("<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"\(attribute)>\(content)</svg>".utf8)
        }
        let namespace = " xmlns:inkscape=\"http://www.inkscape.org\""
        for bytes in [
            drawing("<!-- Ada --><g/>"), drawing("<metadata/>"), drawing("<rdf:RDF/>"), drawing("<?x y?>"),
            drawing("<g><image href=\"data:,\"/></g>"), drawing("<svg:feImage/>"),
            drawing("<foreignObject></foreignObject>"),
            drawing("<g/>", attribute: namespace), drawing("<g/>") + Array("<!-- Ada -->".utf8),
        ] {
            #expect(try inspect(bytes).hasMetadata)
        }
        #expect(try !inspect(drawing("<g><path/></g><imagery/><svg:g/>")).hasMetadata)
    }

    @Test(
        "bytes of a bitmap that belong to no part of it are metadata, and zeros are padding",
        arguments: [0, 7] as [UInt8]
    )
    func findsGapsInBitmaps(value: UInt8) throws {
        for name in ["bmp-info-header.bmp", "bmp-rle8.bmp"] {
            let bytes = try ImageFixture.named(name)
            #expect(try !inspect(bytes).hasMetadata)
            let start = bytes[10..<14].reversed().reduce(0) { $0 << 8 | Int($1) }
            let gap = [UInt8](repeating: value, count: 12)

            #expect(try inspect(bytes + gap).hasMetadata == (value != 0), "\(name)")
            let inside = bytes.inserting(gap, at: start).writing(.littleEndian(UInt32(start + 12)), at: 10)
            #expect(try inspect(inside).hasMetadata == (value != 0), "\(name)")
        }
    }

    @Test func readsAnyPartOfTheView() throws {
        let bytes = try Self.added("jpeg-turned.jpg")
        let view = try StrippedImage(of: ByteArraySource(bytes), as: .jpeg)
        let all = try view.bytes(at: 0, count: .max)

        for start in 0...all.count {
            #expect(try view.bytes(at: start, count: 7) == Array(all[start..<min(all.count, start + 7)]))
        }
    }

    @Test func largeImageIsNeverInMemoryAsAWhole() throws {
        let bytes = try ImageFixture.named("jpeg-baseline.jpg")
        let data = [UInt8](repeating: 0x55, count: 8 << 20)
        let source = CountingByteSource(
            bytes.inserting(data, at: bytes.count - 2).inserting(Self.segment(0xFE, [1]), at: 20)
        )
        let view = try StrippedImage(of: source, as: .jpeg)

        #expect(source.bytesRead <= source.byteCount + 64 * 1024)
        #expect(view.byteCount == bytes.count + data.count)
        #expect(try view.bytes(at: 4 << 20, count: 16) == [UInt8](repeating: 0x55, count: 16))
    }

    @Test func fileInTooManyPiecesIsRefused() throws {
        let bytes = try ImageFixture.named("jpeg-baseline.jpg")
        let pair = Self.segment(0xFE, [1]) + Self.segment(0xDD, [0, 0])
        let many = bytes.inserting(Array(repeatElement(pair, count: 20_000).joined()), at: 20)

        #expect(try inspect(many).hasMetadata)
        #expect(throws: ImageRejection.self) { try StrippedImage(of: ByteArraySource(many), as: .jpeg) }
    }

    /// The checks of `strip` hold for damaged images too, and nothing is left to take out after the first time.
    @Test(arguments: ImageFixture.all.filter { $0.format.canLoseMetadata }, 0..<4)
    func survivesDamage(fixture: ImageFixture, seed: Int) throws {
        let bytes = try fixture.bytes()
        let others = try Self.additions.map { try Self.added($0.name) }
        var random = SeededGenerator(seed: UInt64(seed))
        var accepted = 0
        for _ in 0..<400 {
            let damaged = Self.damage(bytes, others, &random)
            guard let description = try? inspect(damaged), description.format.canLoseMetadata else { continue }
            accepted += 1
            let stripped = try strip(damaged)
            #expect(try strip(stripped) == stripped)
        }
        #expect(accepted > 0)
    }

    private static func damage(_ bytes: [UInt8], _ others: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<min(bytes.count - 1, place + 8))
            case 2: bytes += [0, 0xFF, 0xD9]
            default:
                let other = others[Int.random(in: 0..<others.count, using: &random)]
                let start = Int.random(in: 0..<(other.count - 200), using: &random)
                bytes.insert(contentsOf: other[start..<(start + 200)], at: place)
            }
        }
        return bytes
    }
}
