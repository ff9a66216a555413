import Testing

@testable import AvatarPlaceholder

/// ThumbHashes of the encoder, and random bytes.
@Suite(.timeLimit(.minutes(5))) struct ThumbHashTests {
    /// The hash of an opaque image of 40 × 30 pixels.
    private static let opaque: [UInt8] = [
        220, 247, 5, 45, 142, 63, 134, 119, 164, 121, 119, 125, 136, 199, 87, 121, 11, 53, 233, 130, 8,
    ]
    private static let transparent: [UInt8] = [
        156, 247, 133, 28, 142, 30, 63, 151, 130, 137, 109, 185, 247, 48, 150, 62, 120, 32, 185, 10, 147, 28, 148, 83,
        9,
    ]

    @Test(arguments: [(opaque, "#6d7274", false, 23), (transparent, "#6b6f79", true, 26)])
    func headerHasColourAndShape(bytes: [UInt8], colour: String, hasAlpha: Bool, height: Int) throws {
        let hash = try #require(ThumbHash(bytes))

        #expect(hash.averageColour == colour && hash.hasAlpha == hasAlpha)
        #expect(hash.image.width == 32 && hash.image.height == height)
        #expect(hash.image.rgba.count == 32 * height * 4)
        let alphas = Set(stride(from: 3, to: hash.image.rgba.count, by: 4).map { hash.image.rgba[$0] })
        #expect((alphas == [255]) == !hasAlpha)
    }

    /// An image of one colour has no waves: nibbles of 7 and 8 are almost zero, and the scales are zero.
    @Test func flatImageHasOneColour() throws {
        let flat: [UInt8] = [0x3f, 0xf8, 0x01, 7, 0] + [UInt8](repeating: 0x77, count: 19)
        let hash = try #require(ThumbHash(flat))
        let pixels = stride(from: 0, to: hash.image.rgba.count, by: 4).map { Array(hash.image.rgba[$0..<$0 + 4]) }
        #expect(Set(pixels).count == 1 && hash.image.width == 32 && hash.image.height == 32)
    }

    /// The mean of the drawn image is close to the mean in the header.
    @Test func imageHasTheAverageColour() throws {
        let image = try #require(ThumbHash(Self.opaque)).image
        for (channel, expected) in [0x6d, 0x72, 0x74].enumerated() {
            let sum = stride(from: channel, to: image.rgba.count, by: 4).reduce(0) { $0 + Int(image.rgba[$1]) }
            #expect(abs(sum / (image.width * image.height) - expected) <= 4)
        }
    }

    /// The pixels that another implementation of the algorithm draws: the corners, clockwise from the upper left, and the
    /// centre.
    @Test(arguments: [
        (
            opaque,
            [
                [81, 136, 176, 255], [0, 180, 141, 255], [0, 178, 165, 255], [100, 174, 111, 255], [187, 71, 94, 255],
            ]
        ),
        (
            transparent,
            [
                [96, 152, 154, 156], [0, 166, 160, 229], [0, 188, 149, 255], [113, 168, 122, 255], [175, 70, 111, 255],
            ]
        ),
    ])
    func pixelsAreThoseOfTheAlgorithm(bytes: [UInt8], expected: [[Int]]) throws {
        let image = try #require(ThumbHash(bytes)).image
        let (width, height) = (image.width, image.height)
        let places = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1), (width / 2, height / 2)]
        for ((x, y), pixel) in zip(places, expected) {
            let start = (y * width + x) * 4
            for (drawn, value) in zip(image.rgba[start..<start + 4], pixel) {
                #expect(abs(Int(drawn) - value) <= 1, "\(x), \(y)")
            }
        }
    }

    @Test func pngHasTheChunksOfAPNG() throws {
        let png = try #require(ThumbHash(Self.opaque)).png
        #expect(png.prefix(8) == [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
        #expect(png[16..<26] == [0, 0, 0, 32, 0, 0, 0, 23, 8, 2])
        // The end of every PNG, with its well-known checksum.
        #expect(png.suffix(12) == [0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82])
        #expect(png.count == 57 + 11 + 23 * (1 + 3 * 32))
    }

    // MARK: Bad input

    @Test(arguments: [opaque, transparent]) func wrongLengthIsRefused(bytes: [UInt8]) {
        for count in 0..<bytes.count { #expect(ThumbHash(Array(bytes.prefix(count))) == nil, "\(count)") }
        #expect(ThumbHash(bytes + [0]) == nil)
    }

    @Test func randomBytesAreDrawnOrRefused() {
        var random = SystemRandomNumberGenerator()
        var drawn = 0
        for round in 0..<4000 {
            var bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: .min ... .max, using: &random)
            }
            // Random headers rarely fit their length.
            if round % 2 == 0 {
                bytes = round % 4 == 0 ? Self.opaque : Self.transparent
                for index in bytes.indices where index != 2 || round % 4 == 0 { bytes[index] = .random(in: 0...255) }
                bytes += (0..<25).map { _ in .random(in: 0...255) }
                bytes.removeLast(Int.random(in: 0...40))
            }
            guard let hash = ThumbHash(bytes) else { continue }
            drawn += 1
            let image = hash.image
            #expect((1...32).contains(image.width) && (1...32).contains(image.height), "\(bytes)")
            #expect(image.rgba.count == image.width * image.height * 4 && !hash.png.isEmpty, "\(bytes)")
            #expect(hash.averageColour.count == 7, "\(bytes)")
        }
        #expect(drawn > 10)
    }
}
