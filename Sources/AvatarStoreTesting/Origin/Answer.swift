import NIOCore
import NIOHTTP1

/// A response to one request as it goes over the wire, piece by piece.
struct Answer {
    /// What is written at once.
    struct Piece {
        let bytes: ByteBuffer
        /// How many of the bytes are of the body, without chunk framing.
        let bodyByteCount: Int
        /// Whether the answer ends with this piece.
        let isLast: Bool
        /// The wait until the next piece; `nil` for none.
        let interval: Duration?
        /// Whether the connection ends with the answer.
        let closesConnection: Bool
    }

    /// Goes out in front of the first piece; empty where the body is sent verbatim.
    private var head: ByteBuffer
    private var body: BodyCursor
    private let pieceLength: Int
    private let interval: Duration?
    private let isChunked: Bool
    private let closesConnection: Bool

    init(_ response: LoopbackOrigin.Response, to request: LoopbackOrigin.Request) {
        let (response, start) = response.selected(for: request)
        let behaviour = response.behaviour
        let length = response.body.byteCount - start
        let isVerbatim = behaviour == .verbatim
        let isBodyless = !isVerbatim && Self.isBodyless(response.status, method: request.method)
        head = isVerbatim ? ByteBuffer() : response.head(contentLength: length, closes: !request.keepsAlive)
        body = BodyCursor(response.body, from: start, count: isBodyless ? 0 : behaviour.sentByteCount(of: length))
        (pieceLength, interval) = behaviour.pace
        isChunked = behaviour == .chunked && !isBodyless
        closesConnection = behaviour.closesConnection || !request.keepsAlive || response.asksToClose
    }

    /// The next piece: the head with the beginning of the body, then the body.
    mutating func next() -> Piece {
        let bodyPiece = body.next(limit: pieceLength)
        let isLast = body.remaining == 0
        var bytes = head
        head = ByteBuffer()
        if isChunked {
            bytes.writeChunk(bodyPiece, isLast: isLast)
        } else if bytes.readableBytes > 0 {
            bytes.writeImmutableBuffer(bodyPiece)
        } else {
            bytes = bodyPiece
        }
        return Piece(
            bytes: bytes,
            bodyByteCount: bodyPiece.readableBytes,
            isLast: isLast,
            interval: interval,
            closesConnection: closesConnection
        )
    }

    /// RFC 9112 section 6.3, rule 1.
    private static func isBodyless(_ status: Int, method: String) -> Bool {
        method == "HEAD" || (100..<200).contains(status) || status == 204 || status == 304
    }
}

extension ByteBuffer {
    /// One chunk, and the end of a chunked body (RFC 9112 section 7.1).
    fileprivate mutating func writeChunk(_ piece: ByteBuffer, isLast: Bool) {
        if piece.readableBytes > 0 {
            writeString("\(String(piece.readableBytes, radix: 16))\r\n")
            writeImmutableBuffer(piece)
            writeString("\r\n")
        }
        if isLast {
            writeString("0\r\n\r\n")
        }
    }
}
