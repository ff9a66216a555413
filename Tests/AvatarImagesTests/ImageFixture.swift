import AvatarImages
import Foundation
import Testing

/// An image written by a real encoder, with the expected result. `Fixtures/images/README.md` lists how each was made.
struct ImageFixture: CustomTestStringConvertible, Sendable {
    let name: String
    let format: ImageFormat
    let width: Int
    let height: Int
    /// The length at which the image is complete; `nil` if it needs all bytes.
    let neededByteCount: Int?
    /// The pixels before a crop; `nil` if the image is not cropped.
    let uncroppedPixelCount: Int?
    /// Whether the encoder wrote more than the image.
    let hasMetadata: Bool

    var testDescription: String { name }

    init(
        _ name: String,
        _ format: ImageFormat,
        width: Int = 40,
        height: Int = 30,
        neededByteCount: Int? = nil,
        uncroppedPixelCount: Int? = nil,
        hasMetadata: Bool = false
    ) {
        self.name = name
        self.format = format
        self.width = width
        self.height = height
        self.neededByteCount = neededByteCount
        self.uncroppedPixelCount = uncroppedPixelCount
        self.hasMetadata = hasMetadata
    }

    var description: ImageDescription {
        ImageDescription(format: format, width: width, height: height, hasMetadata: hasMetadata)
    }

    /// The content of the file.
    func bytes() throws -> [UInt8] {
        let folder = Bundle.module.bundleURL.appending(path: "Fixtures/images")
        return try Array(Data(contentsOf: folder.appending(path: name)))
    }

    /// The content of the fixture with this file name.
    static func named(_ name: String) throws -> [UInt8] {
        try ImageFixture(name, .png).bytes()
    }

    static let all: [ImageFixture] =
        [
            ImageFixture("png-rgb.png", .png),
            ImageFixture("png-palette-interlaced.png", .png),
            ImageFixture("png-alpha-optipng.png", .png),
            ImageFixture("png-animated.png", .png),
            ImageFixture("jpeg-baseline.jpg", .jpeg),
            ImageFixture("jpeg-progressive.jpg", .jpeg),
            ImageFixture("jpeg-restart-markers.jpg", .jpeg),
            ImageFixture("jpeg-arithmetic.jpg", .jpeg),
            ImageFixture("jpeg-grey.jpg", .jpeg),
            ImageFixture("jpeg-cmyk.jpg", .jpeg),
            ImageFixture("jpeg-exif-thumbnail.jpg", .jpeg, hasMetadata: true),
            ImageFixture("gif-87a.gif", .gif),
            ImageFixture("gif-interlaced.gif", .gif),
            ImageFixture("gif-animated.gif", .gif),
            ImageFixture("gif-animated-gifsicle.gif", .gif),
            ImageFixture("webp-lossy.webp", .webp),
            ImageFixture("webp-lossless.webp", .webp),
            ImageFixture("webp-alpha.webp", .webp),
            ImageFixture("webp-metadata.webp", .webp, hasMetadata: true),
            ImageFixture("webp-animated.webp", .webp),
            ImageFixture("webp-animated-lossless.webp", .webp),
            ImageFixture("avif-still.avif", .avif),
            ImageFixture("avif-alpha.avif", .avif),
            ImageFixture("avif-sequence.avif", .avif),
            ImageFixture("avif-grid.avif", .avif, width: 128, height: 96),
            ImageFixture("avif-libheif.avif", .avif),
            // 40 x 30, cropped to 32 x 20, then rotated by 90°.
            ImageFixture("avif-clap-irot.avif", .avif, width: 20, height: 32, uncroppedPixelCount: 1200),
            ImageFixture("heic-still.heic", .heic),
            ImageFixture("heic-alpha.heic", .heic),
            ImageFixture("heic-thumbnail.heic", .heic, width: 128, height: 96, hasMetadata: true),
            // The first image is the primary one; the second is larger.
            ImageFixture("heic-two-images.heic", .heic),
            // Coded as 64 x 64.
            ImageFixture("heic-clap.heic", .heic, width: 39, height: 29, uncroppedPixelCount: 4096),
            ImageFixture("bmp-info-header.bmp", .bmp),
            ImageFixture("bmp-v5-alpha.bmp", .bmp),
            ImageFixture("bmp-core-header.bmp", .bmp, width: 20, height: 15),
            ImageFixture("bmp-rle8.bmp", .bmp),
            ImageFixture("bmp-1-bit.bmp", .bmp),
            ImageFixture("ico-png-sizes.ico", .ico, width: 256, height: 256),
            ImageFixture("ico-bmp-sizes.ico", .ico, width: 20, height: 15),
            ImageFixture("ico-imagemagick.ico", .ico, width: 48, height: 48),
            ImageFixture("ico-v5-header.ico", .ico),
            ImageFixture("tiff-little-endian.tiff", .tiff),
            ImageFixture("tiff-big-endian-strips.tiff", .tiff),
            ImageFixture("tiff-big.tiff", .tiff),
            ImageFixture("tiff-plain.tiff", .tiff, width: 20, height: 15),
            ImageFixture("tiff-jpeg.tiff", .tiff),
            ImageFixture("tiff-tiles.tiff", .tiff),
            // The parser ignores the second page, at the end of the file.
            ImageFixture("tiff-pages.tiff", .tiff, neededByteCount: 3334, hasMetadata: true),
            ImageFixture("jpeg2000-box.jp2", .jpeg2000, hasMetadata: true),
            ImageFixture("jpeg2000-tiles.jp2", .jpeg2000, hasMetadata: true),
            ImageFixture("jpeg2000-codestream.j2k", .jpeg2000, hasMetadata: true),
            // The file ends with a line feed, which the image does not need.
            ImageFixture("svg-cairo.svg", .svg, neededByteCount: 559),
        ]
}
