/// TIFF 6.0 and BigTIFF: the first picture of the file. Its directory, the values that the directory refers to and
/// the strips or tiles with the pixels must all be there.
struct TIFFParser: ImageParser {
    private enum Tag {
        static let width: Int64 = 256
        static let height: Int64 = 257
        static let stripOffsets: Int64 = 273
        static let stripByteCounts: Int64 = 279
        static let tileOffsets: Int64 = 324
        static let tileByteCounts: Int64 = 325
        static let all: Set<Int64> = [width, height, stripOffsets, stripByteCounts, tileOffsets, tileByteCounts]
    }

    /// How many offsets, and then how many byte counts, are read in turn; the two lists may be far apart.
    private static let segmentsAtOnce: Int64 = 512

    private var reader: ByteReader

    init(_ reader: ByteReader) {
        self.reader = reader
    }

    mutating func pixelSize() throws -> PixelSize {
        reader.byteOrder = try reader.has(Array("II".utf8), at: 0) ? .littleEndian : .bigEndian
        let layout: TIFFDirectory.Layout = try reader.uint16(at: 2) == 43 ? .big : .classic
        let directory = try TIFFDirectory(in: &reader, layout: layout, keeping: Tag.all)
        let offsets = directory.fields[Tag.tileOffsets] ?? directory.fields[Tag.stripOffsets]
        let byteCounts = directory.fields[Tag.tileByteCounts] ?? directory.fields[Tag.stripByteCounts]
        guard let offsets, let byteCounts, offsets.count > 0, offsets.count == byteCounts.count else {
            throw reader.notImage("its directory does not say where the picture is")
        }
        try requireSegments(at: offsets, byteCounts: byteCounts)
        return try PixelSize(
            width: firstValue(of: directory.fields[Tag.width]),
            height: firstValue(of: directory.fields[Tag.height])
        )
    }

    private mutating func requireSegments(at offsets: TIFFDirectory.Field, byteCounts: TIFFDirectory.Field) throws {
        for start in stride(from: 0, to: offsets.count, by: Int64.Stride(Self.segmentsAtOnce)) {
            let range = start..<min(start + Self.segmentsAtOnce, offsets.count)
            for (offset, byteCount) in zip(try values(of: offsets, in: range), try values(of: byteCounts, in: range)) {
                try reader.require(byteCount, at: offset)
            }
        }
    }

    private mutating func firstValue(of field: TIFFDirectory.Field?) throws -> Int64 {
        guard let field, field.count > 0, let value = try values(of: field, in: 0..<1).first else {
            throw reader.notImage("its directory does not state the size of the picture")
        }
        return value
    }

    private mutating func values(of field: TIFFDirectory.Field, in range: Range<Int64>) throws -> [Int64] {
        guard let byteCount = field.integerByteCount else {
            throw reader.notImage("its directory has a number of an unfit type")
        }
        return try range.map { try reader.integer(at: field.values + $0 * Int64(byteCount), byteCount: byteCount) }
    }
}
