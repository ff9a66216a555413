/// The `iloc` box (ISO 14496-12, 8.11.3): where the bytes of each item are, as extents of the file or of the `idat` box.
struct HEIFItemLocations {
    /// What the offsets of an item count from. Extents of other items, and other files, are not followed.
    private enum Place {
        static let file: Int64 = 0
        static let itemData: Int64 = 1
    }

    private let content: Range<Int64>
    private let itemDataByteCount: Int64
    private let version: Int64
    private let offsetByteCount: Int
    private let lengthByteCount: Int
    private let baseByteCount: Int
    private let indexByteCount: Int

    init(of box: MediaBox, itemData: MediaBox?, in reader: inout ByteReader) throws {
        content = try reader.fullBoxContent(of: box)
        itemDataByteCount = itemData.map { $0.content.upperBound - $0.content.lowerBound } ?? 0
        version = try reader.uint8(at: box.content.lowerBound)
        let widths = try reader.uint16(at: content.lowerBound)
        offsetByteCount = Int(widths >> 12)
        lengthByteCount = Int(widths >> 8 & 0xF)
        baseByteCount = Int(widths >> 4 & 0xF)
        indexByteCount = version > 0 ? Int(widths & 0xF) : 0
        let areKnown = [offsetByteCount, lengthByteCount, baseByteCount, indexByteCount].allSatisfy([0, 4, 8].contains)
        guard version <= 2, areKnown else { throw reader.notImage("its list of items has an unknown form") }
    }

    /// Refuses the image as cut short unless the bytes of all items are there.
    func requireItems(in reader: inout ByteReader) throws {
        let idByteCount: Int64 = version == 2 ? 4 : 2
        var offset = content.lowerBound + 2
        var remaining = try reader.integer(at: offset, byteCount: Int(idByteCount))
        offset += idByteCount
        while remaining > 0, offset < content.upperBound {
            try requireItem(at: offset + idByteCount, end: &offset, in: &reader)
            remaining -= 1
        }
    }

    /// `start` is behind the item's number; the item ends at `end` afterwards.
    private func requireItem(at start: Int64, end: inout Int64, in reader: inout ByteReader) throws {
        var offset = start
        var place = Place.file
        if version > 0 {
            place = try reader.uint16(at: offset) & 0xF
            offset += 2
        }
        let isElsewhere = try reader.uint16(at: offset) != 0
        let base = try reader.integer(at: offset + 2, byteCount: baseByteCount)
        let extentCount = try reader.uint16(at: offset + 2 + Int64(baseByteCount))
        offset += 4 + Int64(baseByteCount)
        let extentByteCount = Int64(indexByteCount + offsetByteCount + lengthByteCount)
        end = offset + extentCount * extentByteCount
        guard end <= content.upperBound else { throw reader.notImage("its list of items is longer than its box") }
        guard !isElsewhere, place == Place.file || place == Place.itemData else { return }
        let limit = place == Place.file ? reader.byteCount : itemDataByteCount
        // Extents without any bytes to describe them are all the same one.
        for index in 0..<(extentByteCount == 0 ? min(extentCount, 1) : extentCount) {
            let extent = offset + index * extentByteCount + Int64(indexByteCount)
            try requireExtent(at: extent, base: base, limit: limit, in: &reader)
        }
    }

    private func requireExtent(at offset: Int64, base: Int64, limit: Int64, in reader: inout ByteReader) throws {
        let start = try reader.integer(at: offset, byteCount: offsetByteCount)
        let length = try reader.integer(at: offset + Int64(offsetByteCount), byteCount: lengthByteCount)
        guard base <= limit, start <= limit - base, length <= limit - base - start else {
            throw reader.truncated("the bytes of an item reach beyond the end")
        }
    }
}
