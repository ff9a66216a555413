/// Windows and OS/2 bitmaps: a file header, an information header whose size tells its version, and rows of pixels.
struct BMPParser: ImageParser {
    /// OS/2 1.x (core), Windows 3 (info) and its extensions, OS/2 2.x cut short and in full, Windows 4 and 5.
    static let headerSizes: [UInt8] = [12, 40, 52, 56, 16, 64, 108, 124]

    private static let fileHeaderByteCount: Int64 = 14
    private static let coreHeaderByteCount: Int64 = 12
    /// Uncompressed, or uncompressed with masks for its colors; a core header knows nothing else.
    private static let plainCompressions: Set<Int64> = [0, 3, 6]
    /// In an OS/2 2.x header, 3 is a fax code instead.
    private static let os2HeaderByteCount: Int64 = 64

    private struct Header {
        var size: PixelSize
        var bitsPerPixel: Int64
        var isPlain = true
        /// Of compressed pixels; 0 where the header does not say.
        var pixelByteCount: Int64 = 0
    }

    private var reader: ByteReader

    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    mutating func pixelSize() throws -> PixelSize {
        // Some writers leave the length of the file at 0.
        try reader.require(reader.uint32(at: 2), at: 0)
        let pixels = try reader.uint32(at: 10)
        let header = try self.header(at: Self.fileHeaderByteCount)
        guard header.size.width > 0 else { throw reader.notImage("its width is not positive") }
        try reader.require(header.isPlain ? try plainByteCount(header) : header.pixelByteCount, at: pixels)
        return header.size
    }

    private mutating func header(at offset: Int64) throws -> Header {
        let headerByteCount = try reader.uint32(at: offset)
        try reader.require(headerByteCount, at: offset)
        guard headerByteCount > Self.coreHeaderByteCount else {
            let size = try PixelSize(width: reader.uint16(at: offset + 4), height: reader.uint16(at: offset + 6))
            return Header(size: size, bitsPerPixel: try reader.uint16(at: offset + 10))
        }
        // A negative height says that the top row is first.
        let size = try PixelSize(width: reader.int32(at: offset + 4), height: abs(reader.int32(at: offset + 8)))
        var header = Header(size: size, bitsPerPixel: try reader.uint16(at: offset + 14))
        guard headerByteCount >= 40 else { return header }
        let compression = try reader.uint32(at: offset + 16)
        header.isPlain =
            Self.plainCompressions.contains(compression)
            && !(compression == 3 && headerByteCount == Self.os2HeaderByteCount)
        header.pixelByteCount = try reader.uint32(at: offset + 20)
        try requirePalette(at: offset + headerByteCount, count: reader.uint32(at: offset + 32))
        return header
    }

    /// A decoder makes room for the colors that the header counts, so all of them must be there.
    private func requirePalette(at offset: Int64, count: Int64) throws {
        guard count * 4 <= reader.byteCount - offset else {
            throw reader.notImage("its palette has more colors than it has room for")
        }
    }

    /// Each row fills whole groups of four bytes.
    private func plainByteCount(_ header: Header) throws -> Int64 {
        guard [1, 2, 4, 8, 16, 24, 32, 64].contains(header.bitsPerPixel) else {
            throw reader.notImage("it has a number of bits per pixel that does not exist")
        }
        let rowByteCount = (header.size.width * header.bitsPerPixel + 31) / 32 * 4
        let (byteCount, overflow) = rowByteCount.multipliedReportingOverflow(by: header.size.height)
        return overflow ? .max : byteCount
    }
}
