/// PNG (ISO 15948): a signature and chunks, each with its length, its name, its data and a checksum.
/// Animated PNG adds chunks that need no look.
struct PNGParser: ImageParser {
    private static let signatureByteCount: Int64 = 8
    /// The length, name and checksum of a chunk.
    private static let frameByteCount: Int64 = 12

    private var reader: ByteReader

    init(_ reader: ByteReader) {
        self.reader = reader
    }

    mutating func pixelSize() throws -> PixelSize {
        let size = try headerSize(at: Self.signatureByteCount)
        var offset = Self.signatureByteCount
        var hasPicture = false
        while true {
            let length = try reader.uint32(at: offset)
            let name = try reader.name(at: offset + 4)
            guard name.isLetters else { throw reader.notImage("a chunk has a name that is not allowed") }
            try reader.require(length + Self.frameByteCount, at: offset)
            if name == "IEND" { break }
            hasPicture = hasPicture || (name == "IDAT" && length > 0)
            offset += length + Self.frameByteCount
        }
        guard hasPicture else { throw reader.notImage("it has no picture data") }
        return size
    }

    private mutating func headerSize(at offset: Int64) throws -> PixelSize {
        let isHeader = try reader.uint32(at: offset) == 13 && reader.name(at: offset + 4) == "IHDR"
        guard isHeader else { throw reader.notImage("its first chunk is not the header") }
        return try PixelSize(width: reader.uint32(at: offset + 8), height: reader.uint32(at: offset + 12))
    }
}
