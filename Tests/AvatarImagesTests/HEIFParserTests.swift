import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct HEIFParserTests {
    private let noFlags: [UInt8] = [0, 0, 0, 0]
    private let fileType: [UInt8] = .box("ftyp", Array("mif1".utf8) + [0, 0, 0, 0] + Array("mif1".utf8))

    private func size(_ width: UInt32, _ height: UInt32) -> [UInt8] {
        .box("ispe", noFlags + .bigEndian(width) + .bigEndian(height))
    }

    /// The properties of two items. Item 1 is 4 x 3 pixels, item 2 is 40 x 30.
    private func properties(associations: [UInt8] = [0, 1, 1, 0x81, 0, 2, 1, 2]) -> [UInt8] {
        let list: [UInt8] = .box("ipco", size(4, 3) + size(40, 30))
        return .box("iprp", list + .box("ipma", noFlags + .bigEndian(UInt32(2)) + associations))
    }

    private func primary(_ item: UInt16) -> [UInt8] {
        .box("pitm", noFlags + .bigEndian(item))
    }

    private func file(_ parts: [UInt8]...) -> [UInt8] {
        fileType + .box("meta", noFlags + Array(parts.joined()))
    }

    @Test(arguments: [(1, 4), (2, 40)] as [(UInt16, Int)])
    func sizeIsThatOfThePrimaryItem(item: UInt16, width: Int) throws {
        let description = try inspect(file(primary(item), properties()))

        #expect(description.format == .heif)
        #expect(description.width == width)
    }

    @Test func largestSizeCountsIfThePrimaryItemHasNone() throws {
        #expect(try inspect(file(properties())).width == 40)
        #expect(try inspect(file(primary(3), properties())).width == 40)
        #expect(try inspect(file(primary(1), properties(associations: [0, 1, 0, 0, 2, 1, 2]))).width == 40)
    }

    @Test func itemNumbersMayHave32Bits() throws {
        let longPrimary: [UInt8] = .box("pitm", [1, 0, 0, 0] + .bigEndian(UInt32(70_000)))
        let association: [UInt8] = .bigEndian(UInt32(70_000)) + [1, 0x80, 1]
        let associations: [UInt8] = .box("ipma", [1, 0, 0, 1] + .bigEndian(UInt32(1)) + association)
        let list: [UInt8] = .box("ipco", size(4, 3) + size(40, 30))

        #expect(try inspect(file(longPrimary, .box("iprp", list + associations))).width == 4)
    }

    /// A file whose primary item is coded as 40 x 30 pixels, with the properties `changes` in this order.
    private func changed(by changes: [[UInt8]]) -> [UInt8] {
        let list: [UInt8] = .box("ipco", size(40, 30) + Array(changes.joined()))
        let indices = (1...UInt8(changes.count + 1)).map { $0 | 0x80 }
        let association: [UInt8] = [0, 1, UInt8(indices.count)] + indices
        return file(
            primary(1),
            .box("iprp", list + .box("ipma", noFlags + .bigEndian(UInt32(1)) + association))
        )
    }

    private func clap(_ width: UInt32, _ height: UInt32, of divisor: UInt32 = 1) -> [UInt8] {
        let sides = [width, divisor, height, divisor].flatMap([UInt8].bigEndian)
        return .box(
            "clap",
            sides + .bigEndian(UInt32(0)) + .bigEndian(divisor) + .bigEndian(UInt32(0)) + .bigEndian(divisor)
        )
    }

    private func irot(_ angle: UInt8) -> [UInt8] { .box("irot", [angle]) }

    @Test func cropsAndRotationsApplyInTheirOrder() throws {
        func sides(_ changes: [UInt8]...) throws -> [Int] {
            let description = try inspect(changed(by: changes))
            return [description.width, description.height]
        }

        #expect(try sides(clap(31, 21)) == [31, 21])
        #expect(try sides(clap(62, 42, of: 2)) == [31, 21])
        #expect(try sides(irot(1)) == [30, 40])
        #expect(try sides(irot(2)) == [40, 30])
        #expect(try sides(irot(3)) == [30, 40])
        #expect(try sides(clap(31, 21), irot(1)) == [21, 31])
        #expect(try sides(irot(1), clap(29, 39)) == [29, 39])
        #expect(try sides(irot(1), .box("imir", [0]), clap(29, 39), irot(3)) == [39, 29])
    }

    @Test func invalidApertureCropsNothing() throws {
        #expect(try inspect(changed(by: [clap(100, 100)])).width == 40)
        #expect(try inspect(changed(by: [clap(31, 21, of: 0)])).width == 40)
        #expect(try inspect(changed(by: [clap(0, 0)])).height == 30)
    }

    @Test func pixelsBeforeACropCountAgainstTheLimit() throws {
        #expect(try refusal(of: changed(by: [clap(1, 1)]), maximumPixels: 1200) == nil)
        #expect(try refusal(of: changed(by: [clap(1, 1)]), maximumPixels: 1199)?.kind == .tooManyPixels)
    }

    @Test(
        arguments: [
            ("unci", "uncompressed"), ("avc1", "AVC"), ("jpeg", "JPEG"), ("j2k1", "JPEG 2000"), ("vvc1", "VVC"),
            ("xxxx", "another coding"),
        ]
    )
    func unsupportedCodingIsRefused(type: String, name: String) throws {
        let plain = try ImageFixture.named("heic-still.heic")
        let place = try #require(plain.offset(of: "infe"))
        let coding = try #require(plain[place...].indices.first { plain[$0...].starts(with: Array("hvc1".utf8)) })
        let refused = try refusal(of: plain.writing(Array(type.utf8), at: coding))

        #expect(refused?.kind == .notImage)
        #expect(refused?.message.contains(name) == true)
        #expect(refused?.message.contains("HEVC and AV1") == true)
        #expect(try refusal(of: plain.writing(Array("av01".utf8), at: coding)) == nil)
    }

    @Test func codingOfAGridIsThatOfItsTiles() throws {
        let grid = try ImageFixture.named("avif-grid.avif")
        let tiles = grid.offsets(of: Array("av01".utf8)).filter { offset in
            grid[..<offset].suffix(12).starts(with: Array("infe".utf8))
        }

        #expect(tiles.count == 2)
        #expect(try refusal(of: grid) == nil)
        #expect(try refusal(of: grid.writing(Array("unci".utf8), at: try #require(tiles.first)))?.kind == .notImage)
    }

    @Test func cyclicDerivationIsRefused() throws {
        let entry: [UInt8] = .box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array("iden".utf8) + [0])
        let items: [UInt8] = .box("iinf", noFlags + [0, 1] + entry)
        let references: [UInt8] = .box("iref", noFlags + .box("dimg", [0, 1, 0, 1, 0, 1]))

        #expect(try refusal(of: file(primary(1), items, references, properties()))?.kind == .notImage)
        #expect(try refusal(of: file(primary(1), items, properties())) == nil)
    }

    @Test(
        arguments: [
            ("avif", "mif1", .avif), ("mif1", "avif", .avif), ("avis", "msf1", .avif), ("heix", "mif1", .heic),
            ("msf1", "hevc", .heic), ("isom", "mif1", .heif),
        ] as [(String, String, ImageFormat)]
    )
    func brandsDetermineTheFormat(major: String, compatible: String, format: ImageFormat) throws {
        let type: [UInt8] = .box("ftyp", Array(major.utf8) + [0, 0, 0, 0] + Array(compatible.utf8))

        #expect(try inspect(type + file(properties()).dropFirst(fileType.count)).format == format)
    }

    @Test func bytesOfTheItemsMustBeInTheFile() throws {
        // Version 0: one item with one extent, 4 bytes each for its offset and length.
        func locations(offset: UInt32, length: UInt32) -> [UInt8] {
            .box("iloc", noFlags + [0x44, 0, 0, 1, 0, 1, 0, 0, 0, 1] + .bigEndian(offset) + .bigEndian(length))
        }
        let length = UInt32(file(properties(), locations(offset: 0, length: 0)).count)

        #expect(try refusal(of: file(properties(), locations(offset: 0, length: length))) == nil)
        #expect(try refusal(of: file(properties(), locations(offset: 1, length: length)))?.kind == .truncated)
        #expect(try refusal(of: file(properties(), locations(offset: .max, length: .max)))?.kind == .truncated)
    }

    @Test func bytesOfAnItemMayBeInABoxOfTheirOwn() throws {
        // Version 1: as above, with 1 for the place and no base, and an extent that begins at `base`.
        func locations(base: UInt32, extents: [UInt8] = [0, 1], rest: [UInt8] = .bigEndian(UInt32(3))) -> [UInt8] {
            .box("iloc", [1, 0, 0, 0, 0x04, 0x40, 0, 1, 0, 1, 0, 1, 0, 0] + .bigEndian(base) + extents + rest)
        }
        let data: [UInt8] = .box("idat", [1, 2, 3, 4])

        #expect(try refusal(of: file(properties(), data, locations(base: 1))) == nil)
        #expect(try refusal(of: file(properties(), data, locations(base: 2)))?.kind == .truncated)
        #expect(try refusal(of: file(properties(), locations(base: 1)))?.kind == .truncated)
        #expect(try refusal(of: file(properties(), data, locations(base: 1, extents: [0, 2])))?.kind == .notImage)
        #expect(try refusal(of: file(locations(base: 0, extents: [0xFF, 0xFF]), properties()))?.kind == .notImage)
    }

    @Test func boxMayHaveA64BitLengthOrRunToTheEnd() throws {
        let image = file(properties())
        let long: [UInt8] = .bigEndian(UInt32(1)) + Array("mdat".utf8) + .bigEndian(UInt64(20)) + [1, 2, 3, 4]
        let open: [UInt8] = .bigEndian(UInt32(0)) + Array("mdat".utf8) + [1, 2, 3]

        #expect(try refusal(of: image + long) == nil)
        #expect(try refusal(of: image + open) == nil)
        #expect(try refusal(of: image + long.dropLast())?.kind == .truncated)
        #expect(try refusal(of: image + long.writing([UInt8](repeating: 0xFF, count: 8), at: 8))?.kind == .truncated)
        #expect(try refusal(of: image + long.writing(.bigEndian(UInt64(15)), at: 8))?.kind == .notImage)
    }

    @Test func tooManyBoxesAreRefused() throws {
        let many = Array(repeatElement([UInt8].box("free"), count: 5000).joined())

        #expect(try refusal(of: file(properties()) + many)?.kind == .notImage)
    }

    @Test func movieIsRefused() throws {
        #expect(try refusal(of: fileType + .box("moov"))?.kind == .notImage)
        #expect(try refusal(of: fileType + .box("free"))?.kind == .truncated)
        #expect(try refusal(of: file(primary(1)))?.kind == .notImage)
    }
}
