/// The `ipma` box (ISO 23008-12, 9.3): which properties each item has, as numbers into the list of properties, from 1.
struct HEIFItemProperties {
    private let content: Range<Int64>
    private let itemByteCount: Int
    private let indexByteCount: Int

    init(of box: MediaBox, in reader: inout ByteReader) throws {
        content = try reader.fullBoxContent(of: box)
        itemByteCount = try reader.uint8(at: box.content.lowerBound) > 0 ? 4 : 2
        indexByteCount = try reader.uint8(at: box.content.lowerBound + 3) & 1 > 0 ? 2 : 1
    }

    /// The numbers of the properties of `item`; none if the box does not name it.
    func indices(of item: Int64, in reader: inout ByteReader) throws -> [Int] {
        var remaining = try reader.uint32(at: content.lowerBound)
        var offset = content.lowerBound + 4
        while remaining > 0, offset < content.upperBound {
            let entry = try reader.integer(at: offset, byteCount: itemByteCount)
            let count = try reader.uint8(at: offset + Int64(itemByteCount))
            offset += Int64(itemByteCount) + 1
            if entry == item { return try indices(at: offset, count: count, in: &reader) }
            offset += count * Int64(indexByteCount)
            remaining -= 1
        }
        return []
    }

    /// The highest bit says whether a decoder must know the property; number 0 is no property.
    private func indices(at offset: Int64, count: Int64, in reader: inout ByteReader) throws -> [Int] {
        let mask: Int64 = indexByteCount == 1 ? 0x7F : 0x7FFF
        return try (0..<count).compactMap { position in
            let start = offset + position * Int64(indexByteCount)
            let index = Int(try reader.integer(at: start, byteCount: indexByteCount) & mask)
            return index > 0 ? index : nil
        }
    }
}
