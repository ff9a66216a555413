/// WebP (RFC 9649): a RIFF chunk whose length covers the whole file. The first chunk inside is a lossy or lossless
/// picture, or the header (`VP8X`) of an extended file, which states a canvas; the pictures follow.
struct WebPParser: ImageParser {
    /// A chunk of the RIFF file: a name, a length and data.
    private struct Chunk {
        /// The name, such as `VP8L`. Names of three letters end with a space.
        let name: FourCharacterCode
        /// The offset of the data.
        let content: Int64
        /// The length of the data, without padding.
        let length: Int64
        /// The offset of the next chunk: chunks are padded to an even length.
        var end: Int64 { content + length + length % 2 }
    }

    /// The offset of the first chunk inside the RIFF chunk.
    private static let firstChunk: Int64 = 12

    /// Reads the file. All offsets count from the start of the RIFF chunk.
    private var reader: ByteReader
    /// The offset behind the RIFF chunk, from its stated length.
    private var end: Int64 = 0

    /// All integers of a RIFF file are little-endian.
    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    /// Checks that the RIFF chunk is complete, and returns the size of the picture or of the canvas.
    ///
    /// - Throws: `truncated` if the file or a chunk ends too early; `notImage` without a picture, or with one larger
    ///   than the canvas.
    mutating func pixelSize() throws -> PixelSize {
        end = 8 + (try reader.uint32(at: 4))
        try reader.require(end, at: 0)
        let first = try chunk(at: Self.firstChunk)
        guard first.name == "VP8X" else {
            guard let size = try pictureSize(first) else { throw reader.notImage("its first chunk is not an image") }
            return size
        }
        guard first.length >= 10 else { throw reader.notImage("its header chunk (VP8X) is too short") }
        let canvas = try minusOneSize(at: first.content + 4)
        guard try hasPicture(on: canvas, from: first.end) else { throw reader.notImage("it has no image data") }
        return canvas
    }

    /// Whether the chunks from `start` on contain a picture or a frame of an animation.
    ///
    /// A picture larger than the canvas is refused, as in decoders. So no file has more pixels than it states.
    private mutating func hasPicture(on canvas: PixelSize, from start: Int64) throws -> Bool {
        var offset = start
        var hasPicture = false
        while end - offset >= 8 {
            let chunk = try chunk(at: offset)
            if let size = try pictureSize(chunk) ?? frameSize(chunk) {
                guard size.width <= canvas.width, size.height <= canvas.height else {
                    throw reader.notImage("an image in it is larger than its canvas")
                }
                hasPicture = true
            }
            offset = chunk.end
        }
        return hasPicture
    }

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

    /// The size of the picture in `chunk`; `nil` if it is another kind of chunk.
    private mutating func pictureSize(_ chunk: Chunk) throws -> PixelSize? {
        switch chunk.name {
        case "VP8 ": try lossySize(chunk)
        case "VP8L": try losslessSize(chunk)
        default: nil
        }
    }

    /// RFC 6386, 9.1: a frame tag (its lowest bit is 0 for a key frame), a start code, and 14 bits for each side.
    private mutating func lossySize(_ chunk: Chunk) throws -> PixelSize {
        let isPicture =
            try chunk.length >= 10 && reader.uint8(at: chunk.content) & 1 == 0
            && reader.has([0x9D, 0x01, 0x2A], at: chunk.content + 3)
        guard isPicture else { throw reader.notImage("its lossy image is not a key frame with a start code") }
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
