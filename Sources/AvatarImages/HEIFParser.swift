/// HEIF (ISO 23008-12), including AVIF and HEIC: a `meta` box lists items with their properties and locations.
///
/// The primary item is the image. Its `ispe` property states the coded size, which `clap` crops and `irot` rotates.
struct HEIFParser: ImageParser {
    /// The boxes of a file that decoders need to show its image. `moov` has the frames of an animation.
    private static let fileBoxes: Set<FourCharacterCode> = ["ftyp", "meta", "mdat", "moov"]
    /// The boxes of `meta` that they need.
    private static let metaBoxes: Set<FourCharacterCode> = [
        "hdlr", "pitm", "iloc", "iinf", "iprp", "iref", "idat", "grpl", "dinf",
    ]

    /// Whether the file has items or boxes about the image, a thumbnail, or bytes behind its boxes. The frames of an
    /// animation are not searched.
    private(set) var hasMetadata = false
    /// Reads the file. The types below take it as `inout`, so that all of them share one window.
    private var reader: ByteReader

    /// Boxes are big-endian (ISO 14496-12, 4.2), which is the default of the reader.
    init(_ reader: ByteReader) {
        self.reader = reader
    }

    /// Checks that the boxes of the file and the bytes of all items are complete, and returns the size of the primary
    /// item.
    ///
    /// - Throws: `truncated` if a box or an item extends beyond the end, or the `meta` box is missing; `notImage` for a
    ///   movie, a coding that viewers lack, or a file that states no size.
    mutating func pixelSize() throws -> PixelSize {
        let boxes = try reader.fileBoxes()
        guard let meta = boxes.first(where: { $0.name == "meta" }) else {
            let isSequence = boxes.contains { $0.name == "moov" }
            throw isSequence
                ? reader.notImage("it is a movie without a still image") : reader.truncated("it has no meta box")
        }
        let parts = try reader.boxes(in: reader.fullBoxContent(of: meta))
        if let locations = parts.first(where: { $0.name == "iloc" }) {
            let itemData = parts.first { $0.name == "idat" }
            try HEIFItemLocations(of: locations, itemData: itemData, in: &reader).requireItems(in: &reader)
        }
        hasMetadata =
            try boxes.contains { !Self.fileBoxes.contains($0.name) }
            || parts.contains { !Self.metaBoxes.contains($0.name) }
            || boxes.last.map { $0.content.upperBound < reader.byteCount } ?? false
            || HEIFItemInfo(in: parts).hasOtherItems(in: &reader)
        return try primarySize(in: parts)
    }

    /// The size of the primary item or, if the file does not identify one, the largest size that it states.
    private mutating func primarySize(in parts: [MediaBox]) throws -> PixelSize {
        guard let properties = parts.first(where: { $0.name == "iprp" }) else {
            throw reader.notImage("it has no item properties (iprp)")
        }
        let boxes = try reader.boxes(in: properties.content)
        guard let container = boxes.first(where: { $0.name == "ipco" }) else {
            throw reader.notImage("it has no list of item properties (ipco)")
        }
        let list = try reader.boxes(in: container.content)
        if let item = try primaryItem(in: parts) {
            try HEIFItemInfo(in: parts).requireShownCoding(of: item, in: &reader)
            for associations in boxes where associations.name == "ipma" {
                let indices = try HEIFItemProperties(of: associations, in: &reader).indices(of: item, in: &reader)
                let properties = indices.filter { $0 <= list.count }.map { list[$0 - 1] }
                guard let coded = properties.first(where: { $0.name == "ispe" }) else { continue }
                return try shownSize(of: size(coded), properties)
            }
        }
        return try largestSize(in: list)
    }

    /// Applies the crops and rotations in `properties` to the size `coded`, in their order (ISO 23008-12, 6.5.1).
    private mutating func shownSize(of coded: PixelSize, _ properties: [MediaBox]) throws -> PixelSize {
        var size = coded
        for property in properties {
            switch property.name {
            case "clap":
                size.width = min(size.width, try aperture(at: property.content.lowerBound) ?? size.width)
                size.height = min(size.height, try aperture(at: property.content.lowerBound + 8) ?? size.height)
            case "irot" where try reader.uint8(at: property.content.lowerBound) & 1 == 1:
                swap(&size.width, &size.height)
            default:
                break
            }
        }
        if size.pixelCount < coded.pixelCount { size.uncroppedPixelCount = coded.pixelCount }
        return size
    }

    /// A side of the clean aperture: a ratio of two 32-bit integers. `nil` if it is below one pixel, which decoders
    /// ignore.
    private mutating func aperture(at offset: Int64) throws -> Int64? {
        let (numerator, denominator) = try (reader.uint32(at: offset), reader.uint32(at: offset + 4))
        guard denominator > 0, numerator >= denominator else { return nil }
        return numerator / denominator
    }

    /// The number of the primary item; `nil` if the file names none.
    private mutating func primaryItem(in parts: [MediaBox]) throws -> Int64? {
        guard let box = parts.first(where: { $0.name == "pitm" }) else { return nil }
        let content = try reader.fullBoxContent(of: box)
        let isLong = try reader.uint8(at: box.content.lowerBound) > 0
        return try reader.integer(at: content.lowerBound, byteCount: isLong ? 4 : 2)
    }

    /// The largest size in `properties`, for a file that does not identify its image. Thumbnails and tiles are
    /// smaller.
    private mutating func largestSize(in properties: [MediaBox]) throws -> PixelSize {
        var largest = PixelSize.zero
        for property in properties where property.name == "ispe" {
            let size = try size(property)
            if size.pixelCount > largest.pixelCount { largest = size }
        }
        guard !largest.isEmpty else { throw reader.notImage("it does not state the size of its image (ispe)") }
        return largest
    }

    /// The size that an `ispe` property states.
    private mutating func size(_ property: MediaBox) throws -> PixelSize {
        let content = try reader.fullBoxContent(of: property)
        guard content.count >= 8 else { throw reader.notImage("a size property (ispe) is too short") }
        return try PixelSize(
            width: reader.uint32(at: content.lowerBound),
            height: reader.uint32(at: content.lowerBound + 4)
        )
    }
}

/// The codings of the items of a HEIF file: their types in the `iinf` box (ISO 14496-12, 8.11.6), and the source items
/// of derived images in the `iref` box (8.11.12).
private struct HEIFItemInfo {
    /// The maximum depth of derivation. Real files have at most two; the limit stops cycles.
    private static let maximumDerivations = 8
    /// Types derived from other items: a grid of tiles, an overlay, an identity, a tone map.
    private static let derivedTypes: Set<FourCharacterCode> = ["grid", "iovl", "iden", "tmap"]
    /// Codings that viewers support: HEVC, layered HEVC and AV1.
    private static let shownTypes: Set<FourCharacterCode> = ["hvc1", "hev1", "lhv1", "av01"]

    /// The types of images. Those that viewers lack may still be a part of one, such as its transparency.
    private static let imageTypes = shownTypes.union(derivedTypes).union(["jpeg", "unci", "avc1", "j2k1", "vvc1"])

    /// The `iinf` box.
    private let items: MediaBox?
    /// The `iref` box.
    private let references: MediaBox?

    /// The boxes about items among `parts`, the boxes in `meta`.
    init(in parts: [MediaBox]) {
        items = parts.first { $0.name == "iinf" }
        references = parts.first { $0.name == "iref" }
    }

    /// Throws if `item`, or the first item it is derived from, has a coding that hardly any viewer supports.
    ///
    /// An item without a known type passes, because the brand of the file has named the format.
    ///
    /// - Throws: `ImageRejection` of kind `notImage`.
    func requireShownCoding(of item: Int64, in reader: inout ByteReader) throws {
        var item = item
        for _ in 0..<Self.maximumDerivations {
            guard let type = try type(of: item, in: &reader), !Self.shownTypes.contains(type) else { return }
            guard Self.derivedTypes.contains(type) else { throw Self.rejection(of: type) }
            guard let source = try firstSource(of: item, in: &reader) else { return }
            item = source
        }
        throw reader.notImage("its image is derived through more than \(Self.maximumDerivations) levels")
    }

    /// The error for an item whose coding is `type`.
    private static func rejection(of type: FourCharacterCode) -> ImageRejection {
        let names: [FourCharacterCode: String] = [
            "unci": "an uncompressed image", "avc1": "an image coded as AVC (H.264)", "jpeg": "a JPEG image",
            "j2k1": "a JPEG 2000 image", "vvc1": "an image coded as VVC (H.266)",
        ]
        let name = names[type] ?? "an image in another coding"
        return ImageRejection(
            kind: .notImage,
            message: "The HEIF image holds \(name), which hardly any viewer supports; only HEVC and AV1 are accepted."
        )
    }

    /// Whether an item is no image, such as EXIF (`Exif`) and XMP (`mime`), or a thumbnail of another one. An item with
    /// faults may be anything.
    func hasOtherItems(in reader: inout ByteReader) throws -> Bool {
        do {
            if let references {
                let list = try reader.boxes(in: reader.fullBoxContent(of: references))
                if list.contains(where: { $0.name == "thmb" }) { return true }
            }
            for entry in try entries(in: &reader) {
                guard let type = try entry.type(in: &reader)?.type, Self.imageTypes.contains(type) else {
                    return true
                }
            }
            return false
        } catch is ImageRejection {
            return true
        }
    }

    /// An entry of the `iinf` box.
    private struct Entry {
        let box: MediaBox

        /// The number and the type of the item. Before version 2, an entry has a media type instead of an item type: `nil`.
        func type(in reader: inout ByteReader) throws -> (id: Int64, type: FourCharacterCode)? {
            let version = try reader.uint8(at: box.content.lowerBound)
            guard version >= 2 else { return nil }
            let idByteCount = version == 2 ? 2 : 4
            let id = try reader.fullBoxContent(of: box).lowerBound
            // The type follows the item's number and a 16-bit protection index.
            return try (reader.integer(at: id, byteCount: idByteCount), reader.name(at: id + Int64(idByteCount) + 2))
        }
    }

    /// The entries of the `iinf` box.
    private func entries(in reader: inout ByteReader) throws -> [Entry] {
        guard let items else { return [] }
        let content = try reader.fullBoxContent(of: items)
        let countByteCount: Int64 = try reader.uint8(at: items.content.lowerBound) == 0 ? 2 : 4
        guard content.count >= countByteCount else { return [] }
        return try reader.boxes(in: (content.lowerBound + countByteCount)..<content.upperBound)
            .filter { $0.name == "infe" }.map(Entry.init)
    }

    /// The type of `item`; `nil` if the file does not state it.
    private func type(of item: Int64, in reader: inout ByteReader) throws -> FourCharacterCode? {
        for entry in try entries(in: &reader) {
            if let found = try entry.type(in: &reader), found.id == item { return found.type }
        }
        return nil
    }

    /// The first item that `item` is derived from (`dimg`).
    private func firstSource(of item: Int64, in reader: inout ByteReader) throws -> Int64? {
        guard let references else { return nil }
        let idByteCount = try reader.uint8(at: references.content.lowerBound) == 0 ? 2 : 4
        for reference in try reader.boxes(in: reader.fullBoxContent(of: references)) where reference.name == "dimg" {
            let start = reference.content.lowerBound
            guard try reader.integer(at: start, byteCount: idByteCount) == item else { continue }
            guard try reader.uint16(at: start + Int64(idByteCount)) > 0 else { return nil }
            return try reader.integer(at: start + Int64(idByteCount) + 2, byteCount: idByteCount)
        }
        return nil
    }
}

/// The `iloc` box (ISO 14496-12, 8.11.3): the bytes of each item, as extents in the file or in the `idat` box.
private struct HEIFItemLocations {
    /// The base of the offsets of an item. Extents in other items or other files are not checked.
    private enum Place {
        /// The start of the file.
        static let file: Int64 = 0
        /// The start of the `idat` box.
        static let itemData: Int64 = 1
    }

    /// The content of the box, without version and flags. It starts with the widths and the number of items.
    private let content: Range<Int64>
    /// The length of the `idat` box; 0 without one.
    private let itemDataByteCount: Int64
    /// The version of the box.
    private let version: Int64
    /// The width of the offset of an extent, in bytes: 0, 4 or 8.
    private let offsetByteCount: Int
    /// The width of the length of an extent, in bytes: 0, 4 or 8.
    private let lengthByteCount: Int
    /// The width of the base offset of an item, in bytes: 0, 4 or 8.
    private let baseByteCount: Int
    /// The width of the index of an extent, in bytes: 0, 4 or 8. Version 0 of the box has none. The parser skips it.
    private let indexByteCount: Int

    /// Reads the header of an `iloc` box.
    ///
    /// - Throws: `ImageRejection` if the box is not complete or has unknown widths.
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
        guard version <= 2, areKnown else {
            throw reader.notImage("its list of item locations (iloc) has an unknown version or width")
        }
    }

    /// Throws an `ImageRejection` of kind `truncated` unless the bytes of all items are in the file.
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

    /// Checks one entry. `start` is the offset behind the item's number; `end` is set to the offset behind the entry.
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
        guard end <= content.upperBound else {
            throw reader.notImage("its list of item locations (iloc) is longer than its box")
        }
        guard !isElsewhere, place == Place.file || place == Place.itemData else { return }
        let limit = place == Place.file ? reader.byteCount : itemDataByteCount
        // Extents described by zero bytes are all equal, so checking one of them bounds the loop.
        for index in 0..<(extentByteCount == 0 ? min(extentCount, 1) : extentCount) {
            let extent = offset + index * extentByteCount + Int64(indexByteCount)
            try requireExtent(at: extent, base: base, limit: limit, in: &reader)
        }
    }

    /// Checks one extent, whose offset counts from `base` and which must end by `limit`.
    private func requireExtent(at offset: Int64, base: Int64, limit: Int64, in reader: inout ByteReader) throws {
        let start = try reader.integer(at: offset, byteCount: offsetByteCount)
        let length = try reader.integer(at: offset + Int64(offsetByteCount), byteCount: lengthByteCount)
        guard base <= limit, start <= limit - base, length <= limit - base - start else {
            throw reader.truncated("the bytes of an item extend beyond the end")
        }
    }
}

/// The `ipma` box (ISO 23008-12, 9.3): the properties of each item, as indices into the property list, starting at 1.
private struct HEIFItemProperties {
    /// The content of the box, without version and flags. It starts with the number of entries.
    private let content: Range<Int64>
    /// The width of an item number, in bytes.
    private let itemByteCount: Int
    /// The width of a property index, in bytes: 1, or 2 if the lowest flag of the box is set.
    private let indexByteCount: Int

    /// Reads the header of an `ipma` box.
    ///
    /// - Throws: `ImageRejection` if the box is not complete.
    init(of box: MediaBox, in reader: inout ByteReader) throws {
        content = try reader.fullBoxContent(of: box)
        itemByteCount = try reader.uint8(at: box.content.lowerBound) > 0 ? 4 : 2
        indexByteCount = try reader.uint8(at: box.content.lowerBound + 3) & 1 > 0 ? 2 : 1
    }

    /// The indices of the properties of `item`; empty if the box does not list the item.
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

    /// Reads `count` indices at `offset`. The highest bit marks an essential property; index 0 means no property.
    private func indices(at offset: Int64, count: Int64, in reader: inout ByteReader) throws -> [Int] {
        let mask: Int64 = indexByteCount == 1 ? 0x7F : 0x7FFF
        return try (0..<count).compactMap { position in
            let start = offset + position * Int64(indexByteCount)
            let index = Int(try reader.integer(at: start, byteCount: indexByteCount) & mask)
            return index > 0 ? index : nil
        }
    }
}
