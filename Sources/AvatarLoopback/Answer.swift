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

/// How a response is framed (RFC 9112 sections 6 and 9.6), honestly or not.
extension LoopbackOrigin.Response {
    /// Whether the response's own header says that the connection ends with it.
    var asksToClose: Bool {
        headers["Connection"]?.lowercased() == "close"
    }

    /// The status line and header fields, up to and with the empty line.
    ///
    /// - Parameters:
    ///   - contentLength: The length of the body, which HEAD hears of too.
    ///   - closes: Whether the connection ends with the answer because the client wants it.
    func head(contentLength: Int, closes: Bool) -> ByteBuffer {
        var head = ByteBufferAllocator().buffer(capacity: 512)
        head.writeString("HTTP/1.1 \(status) \(HTTPResponseStatus(statusCode: status).reasonPhrase)\r\n")
        for field in headers.fields {
            head.writeString(field.name)
            head.writeString(": ")
            head.writeString(field.value)
            head.writeString("\r\n")
        }
        if let framing = framing(contentLength: contentLength) {
            head.writeString(framing)
        }
        if closes, !asksToClose {
            head.writeString("Connection: close\r\n")
        }
        head.writeString("\r\n")
        return head
    }

    /// The field that says where the body ends, unless the response brings its own or may have none.
    private func framing(contentLength: Int) -> String? {
        let mayHaveOne = status >= 200 && status != 204 && status != 304
        guard mayHaveOne, headers["Content-Length"] == nil, headers["Transfer-Encoding"] == nil else { return nil }
        return switch behaviour {
        case .chunked: "Transfer-Encoding: chunked\r\n"
        case .announcing(let announced): "Content-Length: \(announced)\r\n"
        default: "Content-Length: \(contentLength)\r\n"
        }
    }
}

extension LoopbackOrigin.Behaviour {
    /// How much of a body of `byteCount` bytes is sent.
    func sentByteCount(of byteCount: Int) -> Int {
        switch self {
        case .cutShort(let limit): min(max(limit, 0), byteCount)
        case .closeAfterHead, .closeBeforeAnswer, .hang: 0
        default: byteCount
        }
    }

    /// How much is written at once, and the wait in between.
    var pace: (pieceLength: Int, interval: Duration?) {
        switch self {
        case .drip(let byteCount, let interval): (max(1, byteCount), interval)
        case .chunked: (4096, nil)
        default: (65536, nil)
        }
    }

    /// Whether the connection ends with the answer.
    var closesConnection: Bool {
        switch self {
        case .cutShort, .announcing, .closeAfterHead, .closeBeforeAnswer, .verbatim: true
        default: false
        }
    }
}

/// What the conditional header fields of a request make of a response (RFC 9110 sections 13 and 14).
extension LoopbackOrigin.Response {
    /// 304 or 206 or 416 where the request asks for it and the response takes part, else the response itself.
    ///
    /// The second value is how many bytes at the beginning of the body are left out.
    func selected(for request: LoopbackOrigin.Request) -> (response: Self, skipping: Int) {
        guard answersConditionalRequests, status == 200, request.method == "GET" || request.method == "HEAD" else {
            return (self, 0)
        }
        if isNotModified(for: request.headers) {
            return (notModified(), 0)
        }
        guard request.method == "GET", let range = requestedRange(in: request.headers) else { return (self, 0) }
        return partial(range)
    }

    /// `If-Modified-Since` counts only where there is no `If-None-Match` (RFC 9110 section 13.1.3).
    private func isNotModified(for request: LoopbackOrigin.Headers) -> Bool {
        let tags = request.values(for: "If-None-Match")
        guard tags.isEmpty else {
            return tags.contains { hasTag(among: $0) }
        }
        guard let lastModified = headers["Last-Modified"] else { return false }
        return request["If-Modified-Since"] == lastModified
    }

    /// Weak comparison (RFC 9110 section 8.8.3.2). A comma inside a tag would be taken for a separator.
    private func hasTag(among list: String) -> Bool {
        guard let etag = headers["ETag"] else { return false }
        return list.split(separator: ",").contains { item in
            let tag = item.drop { $0 == " " }
            return tag == "*" || Self.opaque(tag) == Self.opaque(etag[...])
        }
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// Without the fields that describe the body that is not sent (RFC 9110 section 15.4.5).
    private func notModified() -> Self {
        var answer = self
        answer.status = 304
        answer.body = .empty
        answer.headers["Content-Type"] = nil
        answer.headers["Content-Length"] = nil
        return answer
    }

    /// One range `first-` or `first-last`, where `If-Range`, if there is one, names this strong tag. Other ranges are
    /// ignored, as a server may.
    private func requestedRange(in request: LoopbackOrigin.Headers) -> (first: Int, last: Int)? {
        guard let range = request["Range"], range.hasPrefix("bytes=") else { return nil }
        if let condition = request["If-Range"] {
            guard condition == headers["ETag"], !condition.hasPrefix("W/") else { return nil }
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first >= 0 else { return nil }
        guard !ends[1].isEmpty else { return (first, body.byteCount - 1) }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return (first, min(last, body.byteCount - 1))
    }

    private func partial(_ range: (first: Int, last: Int)) -> (response: Self, skipping: Int) {
        var answer = self
        guard range.first < body.byteCount else {
            answer.status = 416
            answer.headers["Content-Range"] = "bytes */\(body.byteCount)"
            answer.body = .empty
            return (answer, 0)
        }
        answer.status = 206
        answer.headers["Content-Range"] = "bytes \(range.first)-\(range.last)/\(body.byteCount)"
        answer.body = LoopbackOrigin.Body(byteCount: range.last + 1, beginning: body.beginning)
        return (answer, range.first)
    }
}
