/// Windows icons: a directory of images. Each image is a PNG, or a bitmap without its file header.
///
/// The directory stores each side in one byte, where 0 means 256. The images state their full size, and decoders use
/// that, so the parser reads the size from the images.
struct ICOParser: ImageParser {
    /// Real icons have about a dozen images. The limit bounds the reads, because each image costs one.
    private static let maximumImages: Int64 = 256
    /// The offset of the first directory entry.
    private static let directory: Int64 = 6
    /// The length of a directory entry.
    private static let entryByteCount: Int64 = 16
    /// The first bytes of a PNG.
    private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The length of the shortest bitmap header. A PNG states its size within as many bytes.
    private static let smallestImage: Int64 = 40
    /// The sizes of the headers of Windows 3 with its extensions, 4 and 5. All start with the same fields.
    private static let bitmapHeaders: Set<Int64> = [40, 52, 56, 108, 124]

    /// Reads the file. The offsets in the directory count from the start of the file.
    private var reader: ByteReader
    /// Whether a PNG in the icon holds metadata, or bytes follow the images.
    private(set) var hasMetadata = false

    /// The directory and the bitmaps are little-endian. `imageSize` switches to big-endian for a PNG.
    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    /// Checks that every image of the directory lies inside the file, and returns the size of the largest.
    ///
    /// The images themselves are not walked: a PNG inside an icon may still lack its end.
    ///
    /// - Throws: `truncated` if an image extends beyond the end; `notImage` for a directory without images, with too
    ///   many, or with one that has no pixels.
    mutating func pixelSize() throws -> PixelSize {
        let count = try reader.uint16(at: 4)
        guard (1...Self.maximumImages).contains(count) else {
            throw reader.notImage("it has \(count) images; 1 to \(Self.maximumImages) are accepted")
        }
        let directoryEnd = Self.directory + count * Self.entryByteCount
        try reader.require(directoryEnd, at: 0)
        var largest = PixelSize.zero
        var end = directoryEnd
        for index in 0..<count {
            let entry = Self.directory + index * Self.entryByteCount
            let length = try reader.uint32(at: entry + 8)
            let image = try reader.uint32(at: entry + 12)
            guard image >= directoryEnd, length >= Self.smallestImage else {
                throw reader.notImage(
                    "an image overlaps the directory or is shorter than \(Self.smallestImage) bytes"
                )
            }
            try reader.require(length, at: image)
            let size = try imageSize(at: image, length: length)
            guard !size.isEmpty else { throw reader.notImage("one of its images has no pixels") }
            if size.pixelCount > largest.pixelCount { largest = size }
            end = max(end, image + length)
        }
        if end < reader.byteCount { hasMetadata = true }
        return largest
    }

    /// The size that the image at `offset` states.
    ///
    /// A PNG states it in its `IHDR` chunk (ISO 15948, 11.2.2), a bitmap in its information header.
    private mutating func imageSize(at offset: Int64, length: Int64) throws -> PixelSize {
        if try reader.has(Self.pngSignature, at: offset) {
            reader.byteOrder = .bigEndian
            defer { reader.byteOrder = .littleEndian }
            let chunks = offset + Int64(Self.pngSignature.count)
            if try PNGParser.hasMetadata(in: chunks..<(offset + length), of: &reader) { hasMetadata = true }
            return try PixelSize(width: reader.uint32(at: offset + 16), height: reader.uint32(at: offset + 20))
        }
        let header = try reader.uint32(at: offset)
        guard header <= length, Self.bitmapHeaders.contains(header) else {
            throw reader.notImage("one of its images is neither PNG nor BMP")
        }
        // The height covers both the image and its mask, which is as high.
        return try PixelSize(width: reader.int32(at: offset + 4), height: abs(reader.int32(at: offset + 8)) / 2)
    }
}
