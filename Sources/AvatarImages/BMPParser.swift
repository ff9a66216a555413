/// Windows and OS/2 bitmaps: a file header, an information header whose size identifies its version, and rows of
/// pixels.
struct BMPParser: ImageParser {
    /// The sizes of all information headers: OS/2 1.x (core), Windows 3 (info) and its extensions, OS/2 2.x in its
    /// short and full form, Windows 4 and 5.
    static let headerSizes: [UInt8] = [12, 40, 52, 56, 16, 64, 108, 124]

    /// The length of the file header (`BITMAPFILEHEADER`). The information header follows it.
    private static let fileHeaderByteCount: Int64 = 14
    /// The length of an OS/2 1.x header (`BITMAPCOREHEADER`), whose sides have 16 bits instead of 32.
    private static let coreHeaderByteCount: Int64 = 12
    /// Compression codes for uncompressed pixels: `BI_RGB`, and `BI_BITFIELDS` and `BI_ALPHABITFIELDS` with color
    /// masks. A core header allows only these.
    private static let plainCompressions: Set<Int64> = [0, 3, 6]
    /// The size of an OS/2 2.x header, where compression 3 is a fax code instead.
    private static let os2HeaderByteCount: Int64 = 64

    /// The fields of an information header that the parser needs.
    private struct Header {
        /// The width, and the height without its sign.
        var size: PixelSize
        /// The offset behind the header, its masks and its palette.
        var end: Int64
        /// The depth as stated. `plainByteCount` checks it, because compressed pixels have no fixed depth.
        var bitsPerPixel: Int64
        /// Whether the pixels are uncompressed, so that their length follows from the size.
        var isPlain = true
        /// The length of compressed pixels; 0 if the header does not state it.
        var pixelByteCount: Int64 = 0
    }

    /// Reads the file. All offsets count from the start of the file header.
    private var reader: ByteReader
    /// Whether bytes other than zero are in no part of the bitmap, or its colour profile is the path of another file.
    private(set) var hasMetadata = false

    /// All integers of a bitmap are little-endian.
    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    /// Checks that the file is as long as its header states, and that the pixels lie inside it.
    ///
    /// - Throws: `truncated` if bytes are missing; `notImage` for a width of 0 or less, an unknown depth or a palette
    ///   larger than the file.
    mutating func pixelSize() throws -> PixelSize {
        // Some encoders write 0 for the length of the file, which passes.
        let length = try reader.uint32(at: 2)
        try reader.require(length, at: 0)
        let pixels = try reader.uint32(at: 10)
        let header = try self.header(at: Self.fileHeaderByteCount)
        guard header.size.width > 0 else { throw reader.notImage("its width must be positive") }
        let pixelByteCount = header.isPlain ? try plainByteCount(header) : header.pixelByteCount
        try reader.require(pixelByteCount, at: pixels)
        guard pixelByteCount > 0 else {
            hasMetadata = try hasLinkedProfile()
            return header.size
        }
        let headers = 0..<min(header.end, pixels)
        hasMetadata =
            try hasLinkedProfile() || hasBytes(outside: [headers, pixels..<(pixels + pixelByteCount), try profile()])
        return header.size
    }

    /// Whether a byte outside `parts` is not zero. Encoders fill the room between parts with zeros.
    private mutating func hasBytes(outside parts: [Range<Int64>]) throws -> Bool {
        var offset: Int64 = 0
        let end = Range(uncheckedBounds: (reader.byteCount, reader.byteCount))
        for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) + [end] {
            // Much room is not there for alignment.
            if part.lowerBound - offset > Self.mostPadding { return true }
            while offset < part.lowerBound {
                if try reader.uint8(at: offset) != 0 { return true }
                offset += 1
            }
            offset = max(offset, part.upperBound)
        }
        return false
    }

    /// The most bytes between two parts that are looked at.
    private static let mostPadding: Int64 = 65_536

    /// The length of the header of Windows 5, the only one with a colour profile (`BITMAPV5HEADER`).
    private static let profileHeaderByteCount: Int64 = 124

    /// Whether the header names the file of a colour profile (`PROFILE_LINKED`).
    private mutating func hasLinkedProfile() throws -> Bool {
        let header = Self.fileHeaderByteCount
        guard try reader.uint32(at: header) == Self.profileHeaderByteCount else { return false }
        return try reader.has("KNIL".utf8, at: header + 56)
    }

    /// The place of the colour profile; empty without one.
    private mutating func profile() throws -> Range<Int64> {
        let header = Self.fileHeaderByteCount
        guard try reader.uint32(at: header) == Self.profileHeaderByteCount else { return 0..<0 }
        let start = header + (try reader.uint32(at: header + 112))
        return start..<(start + (try reader.uint32(at: header + 116)))
    }

    /// Reads the information header at `offset`. Its first field is its length.
    private mutating func header(at offset: Int64) throws -> Header {
        let headerByteCount = try reader.uint32(at: offset)
        try reader.require(headerByteCount, at: offset)
        guard headerByteCount > Self.coreHeaderByteCount else {
            let size = try PixelSize(width: reader.uint16(at: offset + 4), height: reader.uint16(at: offset + 6))
            let depth = try reader.uint16(at: offset + 10)
            let colors: Int64 = depth <= 8 ? 1 << depth : 0
            return Header(size: size, end: offset + headerByteCount + 3 * colors, bitsPerPixel: depth)
        }
        // A negative height means that the top row comes first.
        let size = try PixelSize(width: reader.int32(at: offset + 4), height: abs(reader.int32(at: offset + 8)))
        let depth = try reader.uint16(at: offset + 14)
        let mostColors: Int64 = depth <= 8 ? 1 << depth : 0
        var header = Header(size: size, end: offset + headerByteCount + 4 * mostColors, bitsPerPixel: depth)
        guard headerByteCount >= 40 else { return header }
        let compression = try reader.uint32(at: offset + 16)
        header.isPlain =
            Self.plainCompressions.contains(compression)
            && !(compression == 3 && headerByteCount == Self.os2HeaderByteCount)
        header.pixelByteCount = try reader.uint32(at: offset + 20)
        let colors = try reader.uint32(at: offset + 32)
        try requirePalette(at: offset + headerByteCount, count: colors)
        // The masks of the colours follow the header of Windows 3, and are in later ones.
        let masks: Int64 = headerByteCount > 40 ? 0 : compression == 3 ? 12 : compression == 6 ? 16 : 0
        header.end = offset + headerByteCount + masks + 4 * (colors > 0 ? colors : mostColors)
        return header
    }

    /// Checks that the file has room for all colors that the header counts, because a decoder allocates them.
    private func requirePalette(at offset: Int64, count: Int64) throws {
        guard count * 4 <= reader.byteCount - offset else {
            throw reader.notImage("its palette has more colors than fit into the file")
        }
    }

    /// The length of uncompressed pixels. Each row is padded to a multiple of four bytes.
    private func plainByteCount(_ header: Header) throws -> Int64 {
        guard [1, 2, 4, 8, 16, 24, 32, 64].contains(header.bitsPerPixel) else {
            throw reader.notImage("\(header.bitsPerPixel) bits per pixel is not a bitmap depth")
        }
        let rowByteCount = (header.size.width * header.bitsPerPixel + 31) / 32 * 4
        let (byteCount, overflow) = rowByteCount.multipliedReportingOverflow(by: header.size.height)
        return overflow ? .max : byteCount
    }
}
