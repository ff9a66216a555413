/// WebP (RFC 9649): a RIFF chunk whose length covers the whole file. The first chunk inside is a lossy or lossless
/// image, or the header (`VP8X`) of an extended file, which states a canvas; the images follow. All chunks but those of
/// images, animations and the colour profile are metadata.
struct WebPParser: ImagePartsParser {
    /// A chunk of the RIFF file: a name, a length and data.
    private struct Chunk {
        /// The name, such as `VP8L`. Names of three letters end with a space.
        let name: FourCharacterCode
        /// The offset of the chunk.
        var start: Int64 { content - 8 }
        /// The offset of the data.
        let content: Int64
        /// The length of the data, without padding.
        let length: Int64
        /// The offset of the next chunk: chunks are padded to an even length.
        var end: Int64 { content + length + length % 2 }
    }

    /// The offset of the first chunk inside the RIFF chunk.
    private static let firstChunk: Int64 = 12
    /// The chunks that decoders need to show the image, besides the header and the frames.
    private static let shownChunks: Set<FourCharacterCode> = ["VP8 ", "VP8L", "ALPH", "ICCP", "ANIM"]
    /// The chunks of a frame that decoders need to show it.
    private static let shownInFrames: Set<FourCharacterCode> = ["VP8 ", "VP8L", "ALPH"]
    /// The flags of the header for the profile, the transparency and the animation.
    private static let shownFlags: UInt8 = 0x32
    /// The flag of the header for EXIF.
    private static let exifFlag: UInt8 = 0x08
    /// The flag of the header for XMP.
    private static let xmpFlag: UInt8 = 0x04

    /// Reads the file. All offsets count from the start of the RIFF chunk.
    private var reader: ByteReader
    /// The offset behind the RIFF chunk, from its stated length.
    private var end: Int64 = 0
    /// Whether no chunk of EXIF counts any more: the first one was found, or the header announces none.
    private var hasExif = false
    /// Whether the orientation in the chunk stays.
    private var keepsOrientation = false
    /// The chunks that show the image. The header, which depends on them, is added at the end.
    var parts = ImageParts.noting

    /// All integers of a RIFF file are little-endian.
    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    /// Checks that the RIFF chunk is complete, and returns the size of the image or of the canvas.
    ///
    /// - Throws: `truncated` if the file or a chunk ends too early; `notImage` without an image, or with one larger
    ///   than the canvas.
    mutating func pixelSize() throws -> PixelSize {
        end = 8 + (try reader.uint32(at: 4))
        try reader.require(end, at: 0)
        let first = try chunk(at: Self.firstChunk)
        guard first.name == "VP8X" else {
            guard let size = try imageSize(first) else { throw reader.notImage("its first chunk is not an image") }
            keep(first)
            // A file without a header has one chunk.
            noteRest(from: first.end)
            setHeader([])
            return size
        }
        guard first.length >= 10 else { throw reader.notImage("its header chunk (VP8X) is too short") }
        let canvas = try minusOneSize(at: first.content + 4)
        // Decoders pass over EXIF that the header does not announce.
        hasExif = try reader.uint8(at: first.content) & Int64(Self.exifFlag) == 0
        guard try hasImage(on: canvas, from: first.end) else { throw reader.notImage("it has no image data") }
        try setExtendedHeader(first)
        return canvas
    }

    /// Whether the chunks from `start` on contain an image or a frame of an animation.
    ///
    /// An image larger than the canvas is refused, as in decoders. So no file has more pixels than it states.
    private mutating func hasImage(on canvas: PixelSize, from start: Int64) throws -> Bool {
        var offset = start
        var hasImage = false
        while end - offset >= 8 {
            let chunk = try chunk(at: offset)
            if let size = try imageSize(chunk) ?? frameSize(chunk) {
                guard size.width <= canvas.width, size.height <= canvas.height else {
                    throw reader.notImage("an image in it is larger than its canvas")
                }
                hasImage = true
            }
            try notePart(chunk)
            offset = chunk.end
        }
        noteRest(from: offset)
        return hasImage
    }

    // MARK: Parts

    /// Notes whether a chunk shows the image.
    private mutating func notePart(_ chunk: Chunk) throws {
        switch chunk.name {
        case "EXIF": try noteExif(chunk)
        case "ANMF" where chunk.length >= 16: try noteFrame(chunk)
        case _ where Self.shownChunks.contains(chunk.name): keep(chunk)
        default: parts.omit()
        }
    }

    /// Keeps a chunk. Its padding is one byte of 0, which a last chunk may lack.
    private mutating func keep(_ chunk: Chunk) {
        parts.keep(chunk.start..<(chunk.content + chunk.length))
        if chunk.length % 2 == 1 { parts.put([0]) }
    }

    /// Notes the bytes behind the last chunk that counts. The length of the file may leave out its padding.
    private mutating func noteRest(from offset: Int64) {
        if max(offset, end + end % 2) < reader.byteCount || offset < end { parts.omit() }
    }

    /// Keeps the orientation in a chunk of EXIF. Some encoders put the prefix of JPEG before the block.
    private mutating func noteExif(_ chunk: Chunk) throws {
        guard !hasExif else { return parts.omit() }
        hasExif = true
        let prefix = Array("Exif\0\0".utf8)
        let hasPrefix = try chunk.length >= prefix.count && reader.has(prefix, at: chunk.content)
        let start = chunk.content + (hasPrefix ? Int64(prefix.count) : 0)
        let exif = try ExifBlock(in: start..<(chunk.content + chunk.length), of: &reader)
        keepsOrientation = exif.isOrientationAlone || exif.orientation != nil
        if exif.isOrientationAlone { return keep(chunk) }
        guard let orientation = exif.orientation else { return parts.omit() }
        let bytes = ExifBlock.bytes(orientation: orientation)
        parts.replace(by: Array("EXIF".utf8) + Self.littleEndian(Int64(bytes.count)) + bytes)
    }

    /// Keeps the header of a frame, which has 16 bytes, its transparency and its image. The frame has a length, so its
    /// chunks are found before any is kept.
    private mutating func noteFrame(_ frame: Chunk) throws {
        let frameEnd = frame.content + frame.length
        var shown: [Chunk] = []
        var offset = frame.content + 16
        var hasOthers = false
        while frameEnd - offset >= 8 {
            let length = try reader.uint32(at: offset + 4)
            let part = Chunk(name: try reader.name(at: offset), content: offset + 8, length: length)
            guard length <= frameEnd - part.content else { break }
            if Self.shownInFrames.contains(part.name), !shown.contains(where: { $0.name == part.name }) {
                shown.append(part)
            } else {
                hasOthers = true
            }
            offset = part.end
        }
        guard hasOthers || offset < frameEnd else { return keep(frame) }
        let length = shown.reduce(16) { $0 + 8 + $1.length + $1.length % 2 }
        let head = try reader.bytes(16, at: frame.content)
        parts.replace(by: Array("ANMF".utf8) + Self.littleEndian(length) + head)
        for part in shown { keep(part) }
    }

    /// Puts the header of an extended file before the parts: the flags that still hold, and the canvas (2.7).
    private mutating func setExtendedHeader(_ header: Chunk) throws {
        let bytes = try reader.bytes(10, at: header.content)
        let known = Self.shownFlags | Self.exifFlag | Self.xmpFlag
        if header.length > 10 || bytes[0] & ~known != 0 || bytes[1...3].contains(where: { $0 != 0 }) { parts.omit() }
        let flags = bytes[0] & Self.shownFlags | (keepsOrientation ? Self.exifFlag : 0)
        setHeader(Array("VP8X".utf8) + Self.littleEndian(10) + [flags, 0, 0, 0] + bytes[4...])
    }

    /// Puts the header of the file, with its length, and `chunk` before the parts.
    private mutating func setHeader(_ chunk: [UInt8]) {
        let length = 4 + Int64(chunk.count) + parts.byteCount
        parts.setHeader(Array("RIFF".utf8) + Self.littleEndian(length) + Array("WEBP".utf8) + chunk)
    }

    private static func littleEndian(_ value: Int64) -> [UInt8] {
        [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    // MARK: Chunks

    /// Reads the header of the chunk at `offset`.
    ///
    /// - Throws: `ImageRejection` of kind `truncated` if the chunk extends beyond the end, `notImage` without room for
    ///   one.
    private mutating func chunk(at offset: Int64) throws -> Chunk {
        guard end - offset >= 8 else { throw reader.notImage("it has no room for a chunk") }
        let chunk = try Chunk(
            name: reader.name(at: offset),
            content: offset + 8,
            length: reader.uint32(at: offset + 4)
        )
        guard chunk.length <= end - chunk.content else { throw reader.truncated("a chunk extends beyond the end") }
        return chunk
    }

    /// The size of the image in `chunk`; `nil` if it is another kind of chunk.
    private mutating func imageSize(_ chunk: Chunk) throws -> PixelSize? {
        switch chunk.name {
        case "VP8 ": try lossySize(chunk)
        case "VP8L": try losslessSize(chunk)
        default: nil
        }
    }

    /// RFC 6386, 9.1: a frame tag (its lowest bit is 0 for a key frame), a start code, and 14 bits for each side.
    private mutating func lossySize(_ chunk: Chunk) throws -> PixelSize {
        let isImage =
            try chunk.length >= 10 && reader.uint8(at: chunk.content) & 1 == 0
            && reader.has([0x9D, 0x01, 0x2A], at: chunk.content + 3)
        guard isImage else { throw reader.notImage("its lossy image is not a key frame with a start code") }
        return try PixelSize(
            width: reader.uint16(at: chunk.content + 6) & 0x3FFF,
            height: reader.uint16(at: chunk.content + 8) & 0x3FFF
        )
    }

    /// RFC 9649, 3.4: a signature byte, then 14 bits for each side minus one.
    private mutating func losslessSize(_ chunk: Chunk) throws -> PixelSize {
        guard try chunk.length >= 5 && reader.uint8(at: chunk.content) == 0x2F else {
            throw reader.notImage("its lossless image has no signature")
        }
        let sides = try reader.uint32(at: chunk.content + 1)
        return PixelSize(width: (sides & 0x3FFF) + 1, height: (sides >> 14 & 0x3FFF) + 1)
    }

    /// The size of the animation frame in `chunk`; `nil` if it is another kind of chunk.
    private mutating func frameSize(_ chunk: Chunk) throws -> PixelSize? {
        guard chunk.name == "ANMF", chunk.length >= 16 else { return nil }
        return try minusOneSize(at: chunk.content + 6)
    }

    /// Reads 24 bits for each side minus one, as in the chunks `VP8X` and `ANMF` (RFC 9649, 2.7).
    private mutating func minusOneSize(at offset: Int64) throws -> PixelSize {
        try PixelSize(
            width: reader.integer(at: offset, byteCount: 3) + 1,
            height: reader.integer(at: offset + 3, byteCount: 3) + 1
        )
    }
}
