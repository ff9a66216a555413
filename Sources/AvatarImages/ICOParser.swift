/// Windows icons: a directory of pictures, each of them a PNG or a bitmap without its file header.
///
/// The directory has a byte for each side, with 0 for 256. The pictures state their sides in full, and it is them
/// that a decoder believes, so they are what counts here.
struct ICOParser: ImageParser {
    /// Real icons have a dozen; each one costs a jump in the file.
    private static let maximumPictures: Int64 = 256
    private static let directory: Int64 = 6
    private static let entryByteCount: Int64 = 16
    private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// The signature and the sizes of a PNG, or the shortest header of a bitmap.
    private static let smallestPicture: Int64 = 40
    /// Windows 3 with its extensions, Windows 4 and 5: all begin with the same fields.
    private static let bitmapHeaders: Set<Int64> = [40, 52, 56, 108, 124]

    private var reader: ByteReader

    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    mutating func pixelSize() throws -> PixelSize {
        let count = try reader.uint16(at: 4)
        guard (1...Self.maximumPictures).contains(count) else {
            throw reader.notImage("it has no pictures, or more than \(Self.maximumPictures)")
        }
        let directoryEnd = Self.directory + count * Self.entryByteCount
        try reader.require(directoryEnd, at: 0)
        var largest = PixelSize.zero
        for index in 0..<count {
            let entry = Self.directory + index * Self.entryByteCount
            let length = try reader.uint32(at: entry + 8)
            let picture = try reader.uint32(at: entry + 12)
            guard picture >= directoryEnd, length >= Self.smallestPicture else {
                throw reader.notImage("a picture lies inside its directory or is too short")
            }
            try reader.require(length, at: picture)
            let size = try pictureSize(at: picture, length: length)
            guard !size.isEmpty else { throw reader.notImage("a picture in it has no pixels") }
            if size.pixelCount > largest.pixelCount { largest = size }
        }
        return largest
    }

    private mutating func pictureSize(at offset: Int64, length: Int64) throws -> PixelSize {
        if try reader.has(Self.pngSignature, at: offset) {
            reader.byteOrder = .bigEndian
            defer { reader.byteOrder = .littleEndian }
            return try PixelSize(width: reader.uint32(at: offset + 16), height: reader.uint32(at: offset + 20))
        }
        let header = try reader.uint32(at: offset)
        guard header <= length, Self.bitmapHeaders.contains(header) else {
            throw reader.notImage("a picture in it is neither PNG nor BMP")
        }
        // The height counts the rows of the picture and those of its mask.
        return try PixelSize(width: reader.int32(at: offset + 4), height: abs(reader.int32(at: offset + 8)) / 2)
    }
}
