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

/// The first directory of a TIFF file: fields with a tag, a type, a count, and their values or where these are.
private struct TIFFDirectory {
    /// The widths of the numbers that a directory is made of.
    struct Layout {
        /// Where the file says where its first directory is, in a number as wide as every other offset.
        let start: Int64
        let offsetByteCount: Int
        let fieldCountByteCount: Int

        /// The tag and the type take two bytes each.
        var fieldByteCount: Int64 { 4 + 2 * Int64(offsetByteCount) }

        static let classic = Layout(start: 4, offsetByteCount: 4, fieldCountByteCount: 2)
        static let big = Layout(start: 8, offsetByteCount: 8, fieldCountByteCount: 8)
    }

    struct Field {
        let type: Int64
        let count: Int64
        /// Where the values are: in the field itself if they fit, else elsewhere in the file.
        let values: Int64

        /// For the types SHORT, LONG and LONG8; `nil` for those that cannot be an offset or a size.
        var integerByteCount: Int? {
            switch type {
            case 3: 2
            case 4: 4
            case 16: 8
            default: nil
            }
        }
    }

    /// Bytes in a value of each type; the types are numbered from 1, and 14 and 15 do not exist.
    private static let valueByteCounts: [Int64] = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8]

    /// By tag. Of two fields with the same tag, the first.
    private(set) var fields: [Int64: Field] = [:]

    /// Reads the directory. All its fields are checked, those with a tag in `tags` are kept.
    init(in reader: inout ByteReader, layout: Layout, keeping tags: Set<Int64>) throws {
        let start = try reader.integer(at: layout.start, byteCount: layout.offsetByteCount)
        let count = try reader.integer(at: start, byteCount: layout.fieldCountByteCount)
        let firstField = start + Int64(layout.fieldCountByteCount)
        guard count <= (reader.byteCount - firstField) / layout.fieldByteCount else {
            throw reader.truncated("its directory reaches beyond the end")
        }
        // The offset of the next directory belongs to this one.
        try reader.require(Int64(layout.offsetByteCount), at: firstField + count * layout.fieldByteCount)
        for index in 0..<count {
            let offset = firstField + index * layout.fieldByteCount
            let tag = try reader.uint16(at: offset)
            let field = try Self.field(at: offset, in: &reader, layout: layout)
            if tags.contains(tag), fields[tag] == nil { fields[tag] = field }
        }
    }

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
