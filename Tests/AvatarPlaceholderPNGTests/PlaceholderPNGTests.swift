#if PlaceholderPNG && canImport(CPango)
import AvatarCore
import AvatarImages
import AvatarPlaceholder
import AvatarPlaceholderPNG
import Testing

/// Placeholders as PNG, checked by two independent readers: the store's image inspector and libpng.
@Suite(.timeLimit(.minutes(5))) struct PlaceholderPNGTests {
    private static let names = [
        "Ada Lovelace", "ada", "Ⅿ", "", "иван петров", "E\u{301}lodie Zidane", "محمد علي", "דוד לוי", "王小明", "さくら はな",
        "김 철수", "नि शा", "क्षितिज", "🦊 Fox", "🦊", "Wilhelmina Wagner", "j p",
    ]

    @Test("the placeholder is a complete PNG of the requested size", arguments: names)
    func images(name: String) throws {
        for side in [16, 128, 333] {
            let png = try AvatarPlaceholder(id: "4711", name: name).png(side: side)

            let image = try ImageInspector(maximumPixels: 1_000_000, allowsSVG: false).inspect(ByteArraySource(png))
            #expect(image.format.mediaType == AvatarPlaceholder.pngMediaType)
            #expect(image.width == side && image.height == side)
        }
    }

    @Test("white letters are centred on the colour", arguments: names)
    func pixels(name: String) throws {
        let placeholder = AvatarPlaceholder(id: "4711", name: name)
        let pixels = try Pixels(placeholder.png(side: 128))

        for corner in [(0, 0), (127, 0), (8, 127), (119, 64)] where !(corner.1 == 127 && pixels.isSilhouette) {
            #expect(pixels[corner.0, corner.1] == placeholder.colour.bytes)
        }
        // A narrow letter of a light font has fewer than 300 white pixels, a gap in the drawing none.
        #expect((200...7000).contains(pixels.whiteCount), "\(pixels.whiteCount)")
        guard !pixels.isSilhouette else { return }
        let ink = pixels.ink
        #expect(abs(ink.columns.lowerBound + ink.columns.upperBound - 127) <= 2, "\(ink)")
        #expect(abs(ink.rows.lowerBound + ink.rows.upperBound - 127) <= 2, "\(ink)")
        #expect(ink.columns.count <= 94 && ink.rows.count <= 82)
    }

    @Test("a text chunk marks the file as a placeholder")
    func mark() throws {
        let png = try AvatarPlaceholder(id: "1", name: "Ada").png()

        #expect(Array(png[33..<53]).elementsEqual([0, 0, 0, 16] + Array("tEXtPlaceholder\0".utf8)))
        // The chunk with its checksum, computed with zlib's crc32.
        #expect(Array(png[37..<61]) == Array("tEXtPlaceholder\0true".utf8) + [0xD3, 0xE2, 0x6E, 0x6A])
    }

    @Test("the same placeholder has the same bytes on every thread")
    func sameBytes() async throws {
        let drawn = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<16 {
                group.addTask { @concurrent in
                    try Self.names.map { try AvatarPlaceholder(id: "4711", name: $0).png(side: 64) }
                }
            }
            return try await group.reduce(into: Set<[[UInt8]]>()) { $0.insert($1) }
        }

        #expect(drawn.count == 1)
    }

    @Test("different contacts have different placeholders")
    func differences() throws {
        let one = try AvatarPlaceholder(id: "1", name: "Ada Lovelace").png()
        #expect(try AvatarPlaceholder(id: "1", name: "Alan Turing").png() != one)
        #expect(try AvatarPlaceholder(id: "2", name: "Ada Lovelace").png() != one)
    }

    @Test(
        "a name without letters, or with letters that no font has, gives the silhouette",
        // The last is a letter of Kawi, which few systems have a font for.
        arguments: ["", "🦊", "\u{11F12}"]
    )
    func silhouette(name: String) throws {
        #expect(try Pixels(AvatarPlaceholder(id: "1", name: name).png()).isSilhouette)
    }

    @Test("right-to-left initials start at the right")
    func rightToLeft() throws {
        // Lamed, the initial of the last word, is taller than the other letter.
        let pixels = try Pixels(AvatarPlaceholder(id: "1", name: "דוד לוי").png())
        guard !pixels.isSilhouette else { return }

        let top = try #require(pixels.row(pixels.ink.rows.lowerBound + 2).max())
        #expect(top < 64, "\(top)")
        // In left-to-right order, the taller letter would be at the right.
        let latin = try Pixels(AvatarPlaceholder(id: "1", name: "ß ł").png())
        #expect(!latin.isSilhouette)
    }

    @Test("a side out of range is refused", arguments: [-1, 0, 15, 2049, .max])
    func bounds(side: Int) {
        #expect(throws: PlaceholderImageError.self) { try AvatarPlaceholder(id: "1", name: "Ada").png(side: side) }
    }
}

extension PlaceholderColour {
    fileprivate var bytes: [UInt8] { [red, green, blue] }
}
#endif
