import NIOCore
import NIOHTTP1

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
