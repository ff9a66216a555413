/// A block of EXIF (CIPA DC-008): a small TIFF file with fields about a photo, of which only the orientation stays.
struct ExifBlock {
    /// The field Orientation of the first directory, as a tag number.
    private static let orientationTag: Int64 = 0x0112
    /// The length of a block with this field alone: a header of 8 bytes and a directory of one field.
    private static let orientationByteCount = 26

    /// How a viewer turns the image: 2 to 8; `nil` for an upright one, or if the block says nothing valid.
    private(set) var orientation: Int64?
    /// Whether the block says nothing but the orientation.
    private(set) var isOrientationAlone = false

    /// Reads the block in `range`, which must lie inside the file. A block with faults has no orientation.
    ///
    /// - Throws: any error that the byte source throws.
    init(in range: Range<Int64>, of reader: inout ByteReader) throws {
        let order = reader.byteOrder
        defer { reader.byteOrder = order }
        let isLittleEndian = try reader.has([0x49, 0x49, 0x2A, 0x00], at: range.lowerBound)
        guard try isLittleEndian || reader.has([0x4D, 0x4D, 0x00, 0x2A], at: range.lowerBound), range.count >= 14 else {
            return
        }
        reader.byteOrder = isLittleEndian ? .littleEndian : .bigEndian
        let directory = try reader.uint32(at: range.lowerBound + 4)
        guard directory >= 8, directory <= range.count - 2 else { return }
        let firstField = range.lowerBound + directory + 2
        let count = min(try reader.uint16(at: firstField - 2), (range.upperBound - firstField) / 12)
        for index in 0..<count where orientation == nil {
            orientation = try Self.orientation(inField: firstField + 12 * index, of: &reader)
        }
        isOrientationAlone = try Self.isAlone(in: range, of: &reader)
        if orientation == 1 { orientation = nil }
    }

    /// The value of the field at `offset` if it is a valid orientation.
    private static func orientation(inField offset: Int64, of reader: inout ByteReader) throws -> Int64? {
        guard try reader.uint16(at: offset) == orientationTag else { return nil }
        let value: Int64
        switch try reader.uint16(at: offset + 2) {
        case 3: value = try reader.uint16(at: offset + 8)
        case 4: value = try reader.uint32(at: offset + 8)
        default: return nil
        }
        return (1...8).contains(value) ? value : nil
    }

    /// Whether the block is as long as one with the orientation alone, and has no other byte than such a block.
    private static func isAlone(in range: Range<Int64>, of reader: inout ByteReader) throws -> Bool {
        guard range.count == orientationByteCount else { return false }
        let start = range.lowerBound
        // The directory follows the header; its field is one SHORT, which fills half of its place; no directory follows.
        return try reader.uint32(at: start + 4) == 8 && reader.uint16(at: start + 8) == 1
            && reader.uint16(at: start + 10) == orientationTag && reader.uint16(at: start + 12) == 3
            && reader.uint32(at: start + 14) == 1 && (1...8).contains(reader.uint16(at: start + 18))
            && reader.uint16(at: start + 20) == 0 && reader.uint32(at: start + 22) == 0
    }

    /// A block that says only `orientation`.
    static func bytes(orientation: Int64) -> [UInt8] {
        [0x4D, 0x4D, 0x00, 0x2A, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0]
            + [UInt8(truncatingIfNeeded: orientation), 0, 0, 0, 0, 0, 0]
    }
}
