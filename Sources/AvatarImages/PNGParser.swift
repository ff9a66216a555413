/// PNG (ISO 15948): a signature, then chunks. A chunk has a length, a name, data and a checksum.
///
/// Checks the header and that every chunk up to `IEND` is complete. The chunks of animated PNG are skipped, and so are
/// checksums.
struct PNGParser: ImageParser {
    /// The length of the signature. The first chunk follows it.
    private static let signatureByteCount: Int64 = 8
    /// The bytes of a chunk besides its data: length, name and checksum.
    private static let frameByteCount: Int64 = 12

    /// Reads the file. All offsets count from the start of the signature.
    private var reader: ByteReader

    /// Integers are big-endian (ISO 15948, 7.1), which is the default of the reader.
    init(_ reader: ByteReader) {
        self.reader = reader
    }

    /// Walks all chunks up to `IEND` (11.2.5) and returns the size in `IHDR`.
    ///
    /// - Throws: `truncated` if a chunk extends beyond the end or `IEND` is missing; `notImage` if `IHDR` is not first,
    ///   a name is not four letters, or no `IDAT` chunk has data.
    mutating func pixelSize() throws -> PixelSize {
        let size = try headerSize(at: Self.signatureByteCount)
        var offset = Self.signatureByteCount
        var hasPicture = false
        while true {
            let length = try reader.uint32(at: offset)
            let name = try reader.name(at: offset + 4)
            guard name.isLetters else { throw reader.notImage("a chunk name is not four letters") }
            try reader.require(length + Self.frameByteCount, at: offset)
            if name == "IEND" { break }
            hasPicture = hasPicture || (name == "IDAT" && length > 0)
            offset += length + Self.frameByteCount
        }
        guard hasPicture else { throw reader.notImage("it has no image data (IDAT)") }
        return size
    }

    /// The size in the `IHDR` chunk at `offset` (11.2.2): its data has 13 bytes, and the first eight are width and
    /// height.
    private mutating func headerSize(at offset: Int64) throws -> PixelSize {
        let isHeader = try reader.uint32(at: offset) == 13 && reader.name(at: offset + 4) == "IHDR"
        guard isHeader else { throw reader.notImage("its first chunk is not the header (IHDR)") }
        return try PixelSize(width: reader.uint32(at: offset + 8), height: reader.uint32(at: offset + 12))
    }
}
