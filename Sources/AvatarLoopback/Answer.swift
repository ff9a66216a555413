import NIOCore
import NIOHTTP1

/// The bytes of a response to one request, cut into the pieces in which they are written.
struct Answer {
    /// The bytes of one write.
    struct Piece {
        let bytes: ByteBuffer
        /// The number of body bytes among them, without chunk framing.
        let bodyByteCount: Int
        /// Whether the response ends with this piece.
        let isLast: Bool
        /// The wait before the next piece; `nil` for none.
        let interval: Duration?
        /// Whether the connection closes after the response.
        let closesConnection: Bool
    }

    /// Sent with the first piece, then empty. Always empty if the body is sent verbatim.
    private var head: ByteBuffer
    private var body: BodyCursor
    /// The most body bytes of one piece.
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

    /// The next piece: first the head with the beginning of the body, then the rest of the body.
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

    /// Whether HTTP forbids a body here (RFC 9112 section 6.3, rule 1).
    private static func isBodyless(_ status: Int, method: String) -> Bool {
        method == "HEAD" || (100..<200).contains(status) || status == 204 || status == 304
    }
}

extension ByteBuffer {
    /// Appends `piece` as a chunk, and the last chunk if it `isLast` (RFC 9112 section 7.1).
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

/// A position in a body, from which it is read piece by piece.
struct BodyCursor {
    private let body: LoopbackOrigin.Body
    private var position: Int
    private let end: Int

    /// Begins at the offset `start` of `body` and ends `count` bytes later.
    init(_ body: LoopbackOrigin.Body, from start: Int, count: Int) {
        self.body = body
        position = start
        end = start + count
    }

    /// The bytes not read yet.
    var remaining: Int { end - position }

    /// The next piece, of at most `limit` bytes. It shares memory with the body.
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

/// The framing of a response (RFC 9112 sections 6 and 9.6), which its behaviour may falsify.
extension LoopbackOrigin.Response {
    /// Whether the response has the field `Connection: close`.
    var asksToClose: Bool {
        headers["Connection"]?.lowercased() == "close"
    }

    /// The status line, the header fields and the empty line.
    ///
    /// - Parameters:
    ///   - contentLength: The length of the body in bytes, also announced in response to HEAD.
    ///   - closes: Whether to add `Connection: close`, because the client asked for it.
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

    /// The line that frames the body; `nil` if the response has its own or HTTP forbids one for its status.
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
    /// How many bytes are sent of a body of `byteCount` bytes.
    func sentByteCount(of byteCount: Int) -> Int {
        switch self {
        case .cutShort(let limit): min(max(limit, 0), byteCount)
        case .closeAfterHead, .closeBeforeAnswer, .hang: 0
        default: byteCount
        }
    }

    /// The most body bytes of one write, and the wait between two writes.
    var pace: (pieceLength: Int, interval: Duration?) {
        switch self {
        case .drip(let byteCount, let interval): (max(1, byteCount), interval)
        case .chunked: (4096, nil)
        default: (65536, nil)
        }
    }

    /// Whether the connection closes after the response.
    var closesConnection: Bool {
        switch self {
        case .cutShort, .announcing, .closeAfterHead, .closeBeforeAnswer, .verbatim: true
        default: false
        }
    }
}

/// Conditional and range requests (RFC 9110 sections 13 and 14).
extension LoopbackOrigin.Response {
    /// A 304, 206 or 416 if the request asks for one and the response honours such requests; otherwise the response
    /// itself.
    ///
    /// - Returns: the response to send, and the number of bytes to skip at the beginning of its body.
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

    /// `If-None-Match` overrides `If-Modified-Since` (RFC 9110 section 13.1.3).
    private func isNotModified(for request: LoopbackOrigin.Headers) -> Bool {
        let tags = request.values(for: "If-None-Match")
        guard tags.isEmpty else {
            return tags.contains { hasTag(among: $0) }
        }
        guard let lastModified = headers["Last-Modified"] else { return false }
        return request["If-Modified-Since"] == lastModified
    }

    /// Compares weakly (RFC 9110 section 8.8.3.2). Tags with a comma inside are not supported.
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

    /// A 304 without the fields that describe the omitted body (RFC 9110 section 15.4.5).
    private func notModified() -> Self {
        var answer = self
        answer.status = 304
        answer.body = .empty
        answer.headers["Content-Type"] = nil
        answer.headers["Content-Length"] = nil
        return answer
    }

    /// The requested range, if it has the form `first-` or `first-last` and `If-Range`, if present, names our strong tag.
    /// Other ranges are ignored, which a server may do.
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
