/// TIFF 6.0 and BigTIFF. Checks the first image of the file: its directory, the values that the directory refers to,
/// and the strips or tiles with the pixels must be complete. Further pages are ignored.
struct TIFFParser: ImageParser {
    /// The numbers of the directory fields that the parser reads.
    private enum Tag {
        /// ImageWidth (TIFF 6.0, section 3).
        static let width: Int64 = 256
        /// ImageLength: the number of rows.
        static let height: Int64 = 257
        /// StripOffsets: the offset of each strip.
        static let stripOffsets: Int64 = 273
        /// StripByteCounts: the length of each strip after compression.
        static let stripByteCounts: Int64 = 279
        /// TileOffsets (section 15). A tiled file has these two fields instead of those of strips.
        static let tileOffsets: Int64 = 324
        /// TileByteCounts: the length of each tile after compression.
        static let tileByteCounts: Int64 = 325
        /// The fields that `TIFFDirectory` keeps; it checks the others and drops them.
        static let all: Set<Int64> = [width, height, stripOffsets, stripByteCounts, tileOffsets, tileByteCounts]
    }

    /// The number of offsets, and then of byte counts, read in turn. The two lists may be far apart in the file, so
    /// alternating for each segment would cost a read each time.
    private static let segmentsAtOnce: Int64 = 512

    /// The tags of fields that decoders need to show an image (TIFF 6.0, sections 8 to 23; Technical Note 2), with the
    /// resolution, the orientation and the colour profile.
    private static let shownTags: Set<Int64> = Set(
        Array(254...259) + [
            262, 266, 273, 274, 277, 278, 279, 280, 281, 282, 283, 284, 296, 297, 301, 317, 318, 319, 320,
        ]
            + Array(322...325) + [332, 334] + Array(336...343) + [347] + Array(512...521) + Array(529...532) + [34675]
    )

    /// Whether the directory has other fields than decoders need, or another directory follows it.
    private(set) var hasMetadata = false
    /// Reads the file. All offsets count from the start of the file.
    private var reader: ByteReader

    /// The byte order is in the file: `pixelSize` reads it first.
    init(_ reader: ByteReader) {
        self.reader = reader
    }

    /// Checks the first directory and the strips or tiles that it locates, and returns its width and height.
    ///
    /// - Throws: `truncated` if any of them extends beyond the end; `notImage` if the directory lacks a field that the
    ///   parser needs.
    mutating func pixelSize() throws -> PixelSize {
        reader.byteOrder = try reader.has(Array("II".utf8), at: 0) ? .littleEndian : .bigEndian
        let layout: TIFFDirectory.Layout = try reader.uint16(at: 2) == 43 ? .big : .classic
        let directory = try TIFFDirectory(in: &reader, layout: layout, keeping: Tag.all)
        hasMetadata = directory.hasNext || !directory.tags.isSubset(of: Self.shownTags)
        let offsets = directory.fields[Tag.tileOffsets] ?? directory.fields[Tag.stripOffsets]
        let byteCounts = directory.fields[Tag.tileByteCounts] ?? directory.fields[Tag.stripByteCounts]
        guard let offsets, let byteCounts, offsets.count > 0, offsets.count == byteCounts.count else {
            throw reader.notImage("its directory does not locate the image")
        }
        try requireSegments(at: offsets, byteCounts: byteCounts)
        return try PixelSize(
            width: firstValue(of: directory.fields[Tag.width]),
            height: firstValue(of: directory.fields[Tag.height])
        )
    }

    /// Checks that all strips or tiles lie inside the file.
    private mutating func requireSegments(at offsets: TIFFDirectory.Field, byteCounts: TIFFDirectory.Field) throws {
        for start in stride(from: 0, to: offsets.count, by: Int64.Stride(Self.segmentsAtOnce)) {
            let range = start..<min(start + Self.segmentsAtOnce, offsets.count)
            for (offset, byteCount) in zip(try values(of: offsets, in: range), try values(of: byteCounts, in: range)) {
                try reader.require(byteCount, at: offset)
            }
        }
    }

    /// The first value of `field`.
    private mutating func firstValue(of field: TIFFDirectory.Field?) throws -> Int64 {
        guard let field, field.count > 0, let value = try values(of: field, in: 0..<1).first else {
            throw reader.notImage("its directory does not state a width and height")
        }
        return value
    }

    /// The values of `field` at the positions in `range`.
    private mutating func values(of field: TIFFDirectory.Field, in range: Range<Int64>) throws -> [Int64] {
        guard let byteCount = field.integerByteCount else {
            throw reader.notImage("a field of its directory has the wrong type for a number")
        }
        return try range.map { try reader.integer(at: field.values + $0 * Int64(byteCount), byteCount: byteCount) }
    }
}

/// The first directory of a TIFF file. A field has a tag, a type, a count, and its values or their offset.
private struct TIFFDirectory {
    /// The widths of the integers in a directory, which differ between TIFF and BigTIFF.
    struct Layout {
        /// The position of the offset of the first directory.
        let start: Int64
        /// The width of every offset, and of the count of values of a field.
        let offsetByteCount: Int
        /// The width of the number of fields.
        let fieldCountByteCount: Int

        /// The length of a field: tag and type of two bytes each, the count, and the values or their offset.
        var fieldByteCount: Int64 { 4 + 2 * Int64(offsetByteCount) }

        /// TIFF 6.0 (section 2): 32-bit offsets, 16-bit number of fields.
        static let classic = Layout(start: 4, offsetByteCount: 4, fieldCountByteCount: 2)
        /// BigTIFF: offsets, counts and the number of fields have 64 bits. The signature includes the width of offsets.
        static let big = Layout(start: 8, offsetByteCount: 8, fieldCountByteCount: 8)
    }

    /// One field of the directory.
    struct Field {
        /// The type of the values (TIFF 6.0, section 2; 16 to 18 are those of BigTIFF).
        let type: Int64
        /// The number of values.
        let count: Int64
        /// The offset of the values: inside the field if they fit, elsewhere in the file otherwise.
        let values: Int64

        /// The width of a value of type SHORT, LONG or LONG8; `nil` for types that cannot be an offset or a size.
        var integerByteCount: Int? {
            switch type {
            case 3: 2
            case 4: 4
            case 16: 8
            default: nil
            }
        }
    }

    /// The width of a value by type number. Types start at 1; 14 and 15 do not exist.
    private static let valueByteCounts: [Int64] = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8]

    /// The fields by tag. The first of two fields with the same tag counts.
    private(set) var fields: [Int64: Field] = [:]
    /// The tags of all fields.
    private(set) var tags: Set<Int64> = []
    /// Whether another directory follows.
    private(set) var hasNext = false

    /// Reads the directory. It checks all fields, and keeps those with a tag in `kept`.
    ///
    /// - Throws: `ImageRejection` of kind `truncated`; any error that the byte source throws.
    init(in reader: inout ByteReader, layout: Layout, keeping kept: Set<Int64>) throws {
        let start = try reader.integer(at: layout.start, byteCount: layout.offsetByteCount)
        let count = try reader.integer(at: start, byteCount: layout.fieldCountByteCount)
        let firstField = start + Int64(layout.fieldCountByteCount)
        guard count <= (reader.byteCount - firstField) / layout.fieldByteCount else {
            throw reader.truncated("its directory extends beyond the end")
        }
        // The offset of the next directory follows the last field.
        let next = firstField + count * layout.fieldByteCount
        try reader.require(Int64(layout.offsetByteCount), at: next)
        for index in 0..<count {
            let offset = firstField + index * layout.fieldByteCount
            let tag = try reader.uint16(at: offset)
            let field = try Self.field(at: offset, in: &reader, layout: layout)
            if kept.contains(tag), fields[tag] == nil { fields[tag] = field }
            tags.insert(tag)
        }
        hasNext = try reader.integer(at: next, byteCount: layout.offsetByteCount) != 0
    }

    /// Reads the field at `offset` and checks that its values lie inside the file.
    private static func field(at offset: Int64, in reader: inout ByteReader, layout: Layout) throws -> Field {
        let type = try reader.uint16(at: offset + 2)
        let count = try reader.integer(at: offset + 4, byteCount: layout.offsetByteCount)
        let valueByteCount = valueByteCounts.indices.contains(Int(type)) ? valueByteCounts[Int(type)] : 0
        let (byteCount, overflow) = count.multipliedReportingOverflow(by: valueByteCount)
        let inline = offset + 4 + Int64(layout.offsetByteCount)
        guard overflow || byteCount > layout.offsetByteCount else {
            return Field(type: type, count: count, values: inline)
        }
        let values = try reader.integer(at: inline, byteCount: layout.offsetByteCount)
        try reader.require(overflow ? .max : byteCount, at: values)
        return Field(type: type, count: count, values: values)
    }
}
