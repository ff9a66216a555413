/// HEIF (ISO 23008-12), with AVIF and HEIC: a `meta` box that lists items, their properties, and where their bytes
/// are. The primary item is the picture; its `ispe` property is its size, before it is cropped (`clap`) and rotated (`irot`).
struct HEIFParser: ImageParser {
    private var reader: ByteReader

    init(_ reader: ByteReader) {
        self.reader = reader
    }

    mutating func pixelSize() throws -> PixelSize {
        let boxes = try reader.fileBoxes()
        guard let meta = boxes.first(where: { $0.name == "meta" }) else {
            let isSequence = boxes.contains { $0.name == "moov" }
            throw isSequence
                ? reader.notImage("it is a film without a picture") : reader.truncated("it lists no picture")
        }
        let parts = try reader.boxes(in: reader.fullBoxContent(of: meta))
        if let locations = parts.first(where: { $0.name == "iloc" }) {
            let itemData = parts.first { $0.name == "idat" }
            try HEIFItemLocations(of: locations, itemData: itemData, in: &reader).requireItems(in: &reader)
        }
        return try primarySize(in: parts)
    }

    private mutating func primarySize(in parts: [MediaBox]) throws -> PixelSize {
        guard let properties = parts.first(where: { $0.name == "iprp" }) else {
            throw reader.notImage("its items have no properties")
        }
        let boxes = try reader.boxes(in: properties.content)
        guard let container = boxes.first(where: { $0.name == "ipco" }) else {
            throw reader.notImage("its items have no properties")
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

    /// The size that is left of `coded`: each property changes the result of those before it (ISO 23008-12, 6.5.1).
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

    /// A side of the clean aperture, two numbers of 32 bits whose ratio it is; `nil` for less than a pixel, which
    /// decoders do not crop to.
    private mutating func aperture(at offset: Int64) throws -> Int64? {
        let (numerator, denominator) = try (reader.uint32(at: offset), reader.uint32(at: offset + 4))
        guard denominator > 0, numerator >= denominator else { return nil }
        return numerator / denominator
    }

    private mutating func primaryItem(in parts: [MediaBox]) throws -> Int64? {
        guard let box = parts.first(where: { $0.name == "pitm" }) else { return nil }
        let content = try reader.fullBoxContent(of: box)
        let isLong = try reader.uint8(at: box.content.lowerBound) > 0
        return try reader.integer(at: content.lowerBound, byteCount: isLong ? 4 : 2)
    }

    /// Where nothing says which size is the picture's: thumbnails and parts of it are smaller.
    private mutating func largestSize(in properties: [MediaBox]) throws -> PixelSize {
        var largest = PixelSize.zero
        for property in properties where property.name == "ispe" {
            let size = try size(property)
            if size.pixelCount > largest.pixelCount { largest = size }
        }
        guard !largest.isEmpty else { throw reader.notImage("it does not state the size of its picture") }
        return largest
    }

    private mutating func size(_ property: MediaBox) throws -> PixelSize {
        let content = try reader.fullBoxContent(of: property)
        guard content.count >= 8 else { throw reader.notImage("the size of a picture in it is cut off") }
        return try PixelSize(
            width: reader.uint32(at: content.lowerBound),
            height: reader.uint32(at: content.lowerBound + 4)
        )
    }
}
