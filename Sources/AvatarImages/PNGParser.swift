/// PNG (ISO 15948): a signature, then chunks. A chunk has a length, a name, data and a checksum.
///
/// Checks the header and that every chunk up to `IEND` is complete. The chunks of animated PNG are skipped, and so are
/// checksums. Texts, times and unknown ancillary chunks are metadata.
struct PNGParser: ImagePartsParser {
    /// The length of the signature. The first chunk follows it.
    private static let signatureByteCount: Int64 = 8
    /// The bytes of a chunk besides its data: length, name and checksum.
    private static let frameByteCount: Int64 = 12
    /// The ancillary chunks that decoders need to show the image: transparency, colours (11.3.2 and cICP of the third
    /// edition), background, resolution, and the frames of an animation. Critical chunks always stay.
    private static let shownChunks: Set<FourCharacterCode> = [
        "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD", "pHYs", "acTL", "fcTL", "fdAT",
    ]

    /// Reads the file. All offsets count from the start of the signature.
    private var reader: ByteReader
    /// Whether a chunk of EXIF was found. Only the first one counts.
    private var hasExif = false
    /// The chunks that show the image.
    var parts = ImageParts.noting

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
        var hasImage = false
        parts.keep(0..<offset)
        while true {
            let length = try reader.uint32(at: offset)
            let name = try reader.name(at: offset + 4)
            guard name.isLetters else { throw reader.notImage("a chunk name is not four letters") }
            try reader.require(length + Self.frameByteCount, at: offset)
            let end = offset + length + Self.frameByteCount
            try notePart(name, in: offset..<end)
            if name == "IEND" {
                if end < reader.byteCount { parts.omit() }
                break
            }
            hasImage = hasImage || (name == "IDAT" && length > 0)
            offset = end
        }
        guard hasImage else { throw reader.notImage("it has no image data (IDAT)") }
        return size
    }

    /// Notes whether a chunk shows the image. The first letter of an ancillary chunk is in lower case (5.4).
    private mutating func notePart(_ name: FourCharacterCode, in chunk: Range<Int64>) throws {
        switch name {
        case "eXIf": try noteExif(in: chunk)
        case "IEND" where chunk.count > Self.frameByteCount: parts.replace(by: Self.chunk("IEND", []))
        case _ where Self.shownChunks.contains(name) || !name.isAncillary: parts.keep(chunk)
        default: parts.omit()
        }
    }

    /// Keeps the orientation in a chunk of EXIF.
    private mutating func noteExif(in chunk: Range<Int64>) throws {
        guard !hasExif else { return parts.omit() }
        hasExif = true
        let exif = try ExifBlock(in: (chunk.lowerBound + 8)..<(chunk.upperBound - 4), of: &reader)
        if exif.isOrientationAlone { return parts.keep(chunk) }
        guard let orientation = exif.orientation else { return parts.omit() }
        parts.replace(by: Self.chunk("eXIf", ExifBlock.bytes(orientation: orientation)))
    }

    /// Whether the chunks in `range`, a PNG inside another file, hold metadata. Chunks with faults do, and so do bytes behind
    /// the last one.
    static func hasMetadata(in range: Range<Int64>, of reader: inout ByteReader) throws -> Bool {
        var offset = range.lowerBound
        while range.upperBound - offset >= frameByteCount {
            let end = try offset + reader.uint32(at: offset) + frameByteCount
            let name = try reader.name(at: offset + 4)
            guard end <= range.upperBound, shownChunks.contains(name) || !name.isAncillary else { return true }
            if name == "IEND" { return end != range.upperBound || end - offset > frameByteCount }
            offset = end
        }
        return true
    }

    /// A chunk with its length and its checksum (annex D).
    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(name.utf8) + data
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in content {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder >> 1 ^ (remainder & 1 == 0 ? 0 : 0xEDB8_8320) }
        }
        return bigEndian(UInt32(data.count)) + content + bigEndian(~remainder)
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The size in the `IHDR` chunk at `offset` (11.2.2): its data has 13 bytes, and the first eight are width and
    /// height.
    private mutating func headerSize(at offset: Int64) throws -> PixelSize {
        let isHeader = try reader.uint32(at: offset) == 13 && reader.name(at: offset + 4) == "IHDR"
        guard isHeader else { throw reader.notImage("its first chunk is not the header (IHDR)") }
        return try PixelSize(width: reader.uint32(at: offset + 8), height: reader.uint32(at: offset + 12))
    }
}
