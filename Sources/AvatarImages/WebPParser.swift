/// WebP (RFC 9649): one RIFF chunk that states the length of everything in it. Its first chunk is a lossy or lossless
/// picture, or the canvas of an extended file whose pictures follow.
struct WebPParser: ImageParser {
    private struct Chunk {
        let name: FourCharacterCode
        let content: Int64
        let length: Int64
        /// Chunks begin at even offsets.
        var end: Int64 { content + length + length % 2 }
    }

    private static let firstChunk: Int64 = 12

    private var reader: ByteReader
    /// Where the RIFF chunk ends.
    private var end: Int64 = 0

    init(_ reader: ByteReader) {
        self.reader = reader
        self.reader.byteOrder = .littleEndian
    }

    mutating func pixelSize() throws -> PixelSize {
        end = 8 + (try reader.uint32(at: 4))
        try reader.require(end, at: 0)
        let first = try chunk(at: Self.firstChunk)
        guard first.name == "VP8X" else {
            guard let size = try pictureSize(first) else { throw reader.notImage("its first chunk is no picture") }
            return size
        }
        guard first.length >= 10 else { throw reader.notImage("its canvas is too short") }
        let canvas = try minusOneSize(at: first.content + 4)
        guard try hasPicture(on: canvas, from: first.end) else { throw reader.notImage("it has no picture data") }
        return canvas
    }

    /// Whether the chunks from `start` on hold a picture or a frame of an animation.
    ///
    /// One larger than the canvas is refused as decoders do, so that no image has more pixels than it states.
    private mutating func hasPicture(on canvas: PixelSize, from start: Int64) throws -> Bool {
        var offset = start
        var hasPicture = false
        while end - offset >= 8 {
            let chunk = try chunk(at: offset)
            if let size = try pictureSize(chunk) ?? frameSize(chunk) {
                guard size.width <= canvas.width, size.height <= canvas.height else {
                    throw reader.notImage("a picture in it is larger than its canvas")
                }
                hasPicture = true
            }
            offset = chunk.end
        }
        return hasPicture
    }

    private mutating func chunk(at offset: Int64) throws -> Chunk {
        guard end - offset >= 8 else { throw reader.notImage("it has no chunks") }
        let chunk = try Chunk(
            name: reader.name(at: offset),
            content: offset + 8,
            length: reader.uint32(at: offset + 4)
        )
        guard chunk.length <= end - chunk.content else { throw reader.truncated("a chunk is longer than the image") }
        return chunk
    }

    private mutating func pictureSize(_ chunk: Chunk) throws -> PixelSize? {
        switch chunk.name {
        case "VP8 ": try lossySize(chunk)
        case "VP8L": try losslessSize(chunk)
        default: nil
        }
    }

    /// RFC 6386, 9.1: a frame tag whose lowest bit is 0 for a key frame, a start code, and 14 bits for each side.
    private mutating func lossySize(_ chunk: Chunk) throws -> PixelSize {
        let isPicture =
            try chunk.length >= 10 && reader.uint8(at: chunk.content) & 1 == 0
            && reader.has([0x9D, 0x01, 0x2A], at: chunk.content + 3)
        guard isPicture else { throw reader.notImage("its lossy picture has no start code") }
        return try PixelSize(
            width: reader.uint16(at: chunk.content + 6) & 0x3FFF,
            height: reader.uint16(at: chunk.content + 8) & 0x3FFF
        )
    }

    /// RFC 9649, 3.4: a signature, then 14 bits for each side, less one.
    private mutating func losslessSize(_ chunk: Chunk) throws -> PixelSize {
        guard try chunk.length >= 5 && reader.uint8(at: chunk.content) == 0x2F else {
            throw reader.notImage("its lossless picture has no signature")
        }
        let sides = try reader.uint32(at: chunk.content + 1)
        return PixelSize(width: (sides & 0x3FFF) + 1, height: (sides >> 14 & 0x3FFF) + 1)
    }

    private mutating func frameSize(_ chunk: Chunk) throws -> PixelSize? {
        guard chunk.name == "ANMF", chunk.length >= 16 else { return nil }
        return try minusOneSize(at: chunk.content + 6)
    }

    /// 24 bits for each side, less one.
    private mutating func minusOneSize(at offset: Int64) throws -> PixelSize {
        try PixelSize(
            width: reader.integer(at: offset, byteCount: 3) + 1,
            height: reader.integer(at: offset + 3, byteCount: 3) + 1
        )
    }
}
