import AvatarCore
import Testing

struct HEIFParserTests {
    private let noFlags: [UInt8] = [0, 0, 0, 0]
    private let fileType: [UInt8] = .box("ftyp", Array("mif1".utf8) + [0, 0, 0, 0] + Array("mif1".utf8))

    private func size(_ width: UInt32, _ height: UInt32) -> [UInt8] {
        .box("ispe", noFlags + .bigEndian(width) + .bigEndian(height))
    }

    /// Two items with a size each: item 1 has the first, item 2 the second, which is the larger one.
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

    @Test func largestSizeIsTakenWhereNoneIsThePrimaryItems() throws {
        #expect(try inspect(file(properties())).width == 40)
        #expect(try inspect(file(primary(3), properties())).width == 40)
        #expect(try inspect(file(primary(1), properties(associations: [0, 1, 0, 0, 2, 1, 2]))).width == 40)
    }

    @Test func longNumbersAreReadToo() throws {
        let longPrimary: [UInt8] = .box("pitm", [1, 0, 0, 0] + .bigEndian(UInt32(70_000)))
        let association: [UInt8] = .bigEndian(UInt32(70_000)) + [1, 0x80, 1]
        let associations: [UInt8] = .box("ipma", [1, 0, 0, 1] + .bigEndian(UInt32(1)) + association)
        let list: [UInt8] = .box("ipco", size(4, 3) + size(40, 30))

        #expect(try inspect(file(longPrimary, .box("iprp", list + associations))).width == 4)
    }

    @Test(
        arguments: [
            ("avif", "mif1", .avif), ("mif1", "avif", .avif), ("avis", "msf1", .avif), ("heix", "mif1", .heic),
            ("msf1", "hevc", .heic), ("isom", "mif1", .heif),
        ] as [(String, String, ImageFormat)]
    )
    func brandsTellTheCoding(major: String, compatible: String, format: ImageFormat) throws {
        let type: [UInt8] = .box("ftyp", Array(major.utf8) + [0, 0, 0, 0] + Array(compatible.utf8))

        #expect(try inspect(type + file(properties()).dropFirst(fileType.count)).format == format)
    }

    @Test func bytesOfTheItemsMustBeThere() throws {
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

    @Test func boxMayReachToTheEndOrStateItsLengthIn64Bits() throws {
        let image = file(properties())
        let long: [UInt8] = .bigEndian(UInt32(1)) + Array("mdat".utf8) + .bigEndian(UInt64(20)) + [1, 2, 3, 4]
        let open: [UInt8] = .bigEndian(UInt32(0)) + Array("mdat".utf8) + [1, 2, 3]

        #expect(try refusal(of: image + long) == nil)
        #expect(try refusal(of: image + open) == nil)
        #expect(try refusal(of: image + long.dropLast())?.kind == .truncated)
        #expect(try refusal(of: image + long.writing([UInt8](repeating: 0xFF, count: 8), at: 8))?.kind == .truncated)
        #expect(try refusal(of: image + long.writing(.bigEndian(UInt64(15)), at: 8))?.kind == .notImage)
    }

    @Test func countOfBoxesIsBounded() throws {
        let many = Array(repeatElement([UInt8].box("free"), count: 5000).joined())

        #expect(try refusal(of: file(properties()) + many)?.kind == .notImage)
    }

    @Test func filmIsNoImage() throws {
        #expect(try refusal(of: fileType + .box("moov"))?.kind == .notImage)
        #expect(try refusal(of: fileType + .box("free"))?.kind == .truncated)
        #expect(try refusal(of: file(primary(1)))?.kind == .notImage)
    }
}
