import NIOCore

/// Hands out a body piece by piece.
struct BodyCursor {
    private let body: LoopbackOrigin.Body
    private var position: Int
    private let end: Int

    /// The `count` bytes of `body` that begin at `start`.
    init(_ body: LoopbackOrigin.Body, from start: Int, count: Int) {
        self.body = body
        position = start
        end = start + count
    }

    /// How many bytes are still to come.
    var remaining: Int { end - position }

    /// The next piece, of at most `limit` bytes and perhaps fewer; shares memory with the body.
    mutating func next(limit: Int) -> ByteBuffer {
        let inMemory = body.beginning.readableBytes - position
        let source = inMemory > 0 ? body.beginning : Self.zeros
        let offset = inMemory > 0 ? position : 0
        let count = min(limit, remaining, source.readableBytes - offset)
        position += count
        return source.getSlice(at: source.readerIndex + offset, length: count) ?? ByteBuffer()
    }

    private static let zeros = ByteBuffer(repeating: 0, count: 65536)
}
