import AvatarCore
import AvatarRenditions
import Testing

/// Renditions of valid images: their size, colours and bytes.
@Suite(.enabled(if: Fixture.hasDecoders, "needs the package trait Renditions"), .timeLimit(.minutes(5)))
struct RenditionTests {
    /// Red, green, blue and yellow: the corners of the fixtures, row by row.
    private static let corners: [[UInt8]] = [[220, 40, 40], [40, 180, 60], [40, 60, 210], [230, 210, 50]]

    private let pool = DecoderPool()

    private func pixels(_ name: String, size: Int = 48, fit: Rendition.Fit = .inside) async throws -> Pixels {
        try Pixels(try await pool.make(Rendition(size: size, format: .png, fit: fit), of: name).bytes)
    }

    private func expectCorners(_ pixels: Pixels, _ colours: [[UInt8]] = Self.corners, within distance: Int = 4) {
        for (corner, colour) in zip(pixels.corners, colours) {
            #expect(isNear(corner, colour, within: distance), "\(corner) instead of \(colour)")
        }
    }

    @Test(arguments: 1...8)
    func orientationOfJPEG(_ orientation: Int) async throws {
        let pixels = try await pixels("orientation-\(orientation).jpg")

        #expect((pixels.width, pixels.height) == (48, 32))
        expectCorners(pixels)
    }

    @Test(arguments: ["orientation-6.png", "orientation-6.webp"])
    func orientationOfOthers(_ name: String) async throws {
        expectCorners(try await pixels(name))
    }

    @Test func squareIsTheMiddle() async throws {
        let made = try await pool.make(Rendition(size: 32, format: .png, fit: .square), of: "orientation-8.jpg")
        let pixels = try Pixels(made.bytes)

        #expect((made.width, made.height, made.mediaType) == (32, 32, "image/png"))
        #expect((pixels.width, pixels.height) == (32, 32))
        expectCorners(pixels)
    }

    @Test func unscaledSquareStaysSharp() async throws {
        let pixels = try await pixels("stripes.png", fit: .square)

        #expect((pixels.width, pixels.height) == (30, 30))
        for x in 0..<30 { #expect([[0], [255]].contains(pixels[x, 15]), "\(x)") }
    }

    @Test(arguments: [Rendition.Format.jpeg, .png, .webp])
    func noRenditionIsLargerThanItsOriginal(_ format: Rendition.Format) async throws {
        let whole = try await pool.make(Rendition(size: 512, format: format), of: "small.png")
        let square = try await pool.make(Rendition(size: 512, format: format, fit: .square), of: "small.png")

        #expect((whole.width, whole.height) == (40, 30))
        #expect((square.width, square.height) == (30, 30))
        #expect(whole.mediaType == "image/\(format.rawValue)")
    }

    @Test(arguments: ["thin.png", "flat.png", "thin.jpg"])
    func oneByFiftyThousand(_ name: String) async throws {
        let whole = try await pool.make(Rendition(size: 96, format: .jpeg), of: name)
        let square = try await pool.make(Rendition(size: 96, format: .jpeg, fit: .square), of: name)

        #expect([whole.width, whole.height].sorted() == [1, 96])
        #expect((square.width, square.height) == (1, 1))
    }

    @Test(arguments: ["swapped.jpg", "swapped.png", "swapped.webp"])
    func profileIsApplied(_ name: String) async throws {
        let swapped = Self.corners.map { [$0[1], $0[0], $0[2]] }

        expectCorners(try await pixels(name), swapped)
    }

    @Test func displayP3() async throws {
        // Computed with the matrices of the two colour spaces; values outside sRGB are clipped.
        let expected: [[UInt8]] = [[240, 0, 23], [0, 182, 31], [34, 61, 217], [234, 209, 0]]

        expectCorners(try await pixels("display-p3.jpg"), expected, within: 6)
    }

    @Test(arguments: [
        "srgb.jpg", "broken-profile.jpg", "cmyk-imagemagick.jpg", "rgb-16-imagemagick.png", "corners-interlaced.gif",
    ])
    func sameColours(_ name: String) async throws {
        expectCorners(try await pixels(name))
    }

    @Test(arguments: ["cmyk-adobe.jpg", "cmyk-plain.jpg", "cmyk-profile.jpg"])
    func inksBecomeRed(_ name: String) async throws {
        let pixels = try await pixels(name)

        #expect(pixels.channels == 3)
        #expect(isNear(pixels[20, 15], [254, 0, 0]))
    }

    @Test func linearGrayBecomesLighter() async throws {
        let pixels = try await pixels("gray-linear.png")

        #expect(pixels.channels == 1)
        #expect(isNear(pixels[20, 15], [128], within: 2))
    }

    @Test(arguments: ["alpha.png", "alpha.webp", "offset.gif"])
    func invisibleColoursDoNotShow(_ name: String) async throws {
        let pixels = try await pixels(name, size: 32)

        #expect(pixels.channels == 4)
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                let pixel = pixels[x, y]
                // The transparent parts are red, and the blue square must have no red edge.
                #expect(pixel[3] == 0 || isNear(Array(pixel[0..<3]), [0, 0, 255], within: 2), "\(pixel) at \(x), \(y)")
            }
        }
    }

    @Test func alphaIsWhiteInJPEG() async throws {
        let jpeg = try await pool.make(Rendition(size: 64, format: .jpeg), of: "alpha.png")
        let pixels = try Pixels(try await pool.make(Rendition(size: 64, format: .png), of: jpeg.bytes).bytes)

        #expect(pixels.channels == 3)
        #expect(isNear(pixels[3, 3], [255, 255, 255]))
        #expect(isNear(pixels[30, 30], [0, 0, 255], within: 8))
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func firstFrame(_ name: String) async throws {
        let first = try await pixels("small.png")
        let pixels = try await pixels(name)

        for (corner, expected) in zip(pixels.corners, first.corners) { #expect(isNear(corner, expected, within: 40)) }
    }

    @Test(arguments: [
        "gray-16.png", "gray-alpha.png", "one-bit.png", "palette.png", "palette-out-of-range.png",
        "palette-out-of-range.gif",
    ])
    func rareSamples(_ name: String) async throws {
        for format in [Rendition.Format.jpeg, .png, .webp] {
            let made = try await pool.make(Rendition(size: 32, format: format), of: name)
            #expect(made.width <= 32 && made.height <= 32)
        }
    }

    @Test(arguments: ["photo.jpg", "photo-imagemagick.jpg", "photo-cjpeg.jpg", "photo-ffmpeg.jpg", "photo-cwebp.webp"])
    func encodersAgree(_ name: String) async throws {
        let expected = try await pixels("photo.jpg")
        let pixels = try await pixels(name)

        for (corner, colour) in zip(pixels.corners, expected.corners) { #expect(isNear(corner, colour, within: 8)) }
    }

    @Test func noMetadataRemains() async throws {
        for (name, format) in [("display-p3.jpg", Rendition.Format.jpeg), ("orientation-6.webp", .webp)] {
            let bytes = try await pool.make(Rendition(size: 48, format: format), of: name).bytes
            let text = String(decoding: bytes, as: Unicode.ASCII.self)
            for word in ["Exif", "ICC", "EXIF", "P3"] { #expect(!text.contains(word), "\(word) in \(name)") }
        }
    }

    @Test(arguments: [Rendition.Format.jpeg, .png, .webp])
    func bytesStayWithinTheLimit(_ format: Rendition.Format) async throws {
        let full = try await pool.make(Rendition(size: 256, format: format), of: "photo.jpg")
        #expect(full.width == 256)
        for most in [full.bytes.count, full.bytes.count - 1, 8_000, 3_000] {
            let made = try await pool.make(Rendition(size: 256, format: format, maxBytes: most), of: "photo.jpg")
            #expect(made.bytes.count <= most)
            #expect(Rendition.sizes.contains(made.width))
            // JPEG and WebP lower the quality first.
            if format != .png && most >= 3_000 { #expect(made.width == 256, "\(most)") }
        }
    }

    @Test func tooLowLimitIsRefused() async throws {
        let refusal = try await pool.refusal(
            Rendition(size: 256, format: .jpeg, maxBytes: 100),
            of: try Fixture.bytes("photo.jpg")
        )

        guard case .tooManyBytes(let smallest) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(smallest > 100 && smallest < 1_500)
    }

    @Test func thumbHashMatchesTheReference() async throws {
        let made = try await pool.make(Rendition(size: 32, format: .jpeg), of: "small.png")
        let alpha = try await pool.make(Rendition(size: 32, format: .jpeg, fit: .square), of: "palette.png")

        // Computed by the reference implementation from the pixels of these files.
        #expect(
            made.thumbHash == [
                220, 247, 5, 45, 142, 63, 134, 119, 164, 121, 119, 125, 136, 199, 87, 121, 11, 53, 233, 130, 8,
            ]
        )
        #expect(
            alpha.thumbHash == [
                156, 247, 133, 28, 142, 30, 63, 151, 130, 137, 109, 185, 247, 48, 150, 62, 120, 32, 185, 10, 147, 28,
                148, 83, 9,
            ]
        )
    }
}
