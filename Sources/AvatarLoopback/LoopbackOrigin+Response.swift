import AvatarFoundation
import NIOCore

extension LoopbackOrigin {
    /// A response: status, header fields and body, when it is sent and how it goes over the wire.
    ///
    /// Start from a factory (`image`, `status`, `redirect`, `raw`, `hang`, `closed`) or from `init`, and change what the
    /// test needs: `.image(png).behaving(.cutShort(after: 100))`.
    public struct Response: Sendable {
        /// The status code. The body is not sent with 1xx, 204 and 304, nor in response to HEAD.
        public var status: Int
        /// The header fields. `Content-Length` is added unless it or `Transfer-Encoding` is among them.
        public var headers: Headers
        /// The body.
        public var body: Body
        /// The wait before anything is sent. Default: none.
        public var delay: Duration
        /// Holds the response back until it is opened. Default: none.
        public var gate: Gate?
        /// How the response goes over the wire. Default: `normal`.
        public var behaviour: Behaviour
        /// Whether a 200 honours conditional and range requests (RFC 9110 sections 13.2.2 and 14.2). Default: false; true
        /// for `image`.
        ///
        /// A GET or HEAD whose `If-None-Match` or `If-Modified-Since` matches `ETag` or `Last-Modified` in `headers` gets
        /// a 304, and a GET with a single byte `Range` gets a 206. As with many servers, `If-Modified-Since` matches
        /// only the exact text of `Last-Modified`.
        public var answersConditionalRequests: Bool

        /// Makes a response; each parameter is described at its property.
        public init(
            status: Int = 200,
            headers: Headers = [:],
            body: Body = .empty,
            delay: Duration = .zero,
            behaviour: Behaviour = .normal,
            answersConditionalRequests: Bool = false
        ) {
            (self.status, self.headers, self.body, self.delay) = (status, headers, body, delay)
            (self.behaviour, self.answersConditionalRequests) = (behaviour, answersConditionalRequests)
        }

        /// The same response, sent after `delay`.
        public func delayed(by delay: Duration) -> Response {
            var copy = self
            copy.delay = delay
            return copy
        }

        /// The same response, held back until `gate` is open.
        public func held(by gate: Gate) -> Response {
            var copy = self
            copy.gate = gate
            return copy
        }

        /// The same response with another behaviour on the wire.
        public func behaving(_ behaviour: Behaviour) -> Response {
            var copy = self
            copy.behaviour = behaviour
            return copy
        }
    }
}

extension LoopbackOrigin.Response {
    /// An image with validators. It honours conditional and range requests.
    ///
    /// - Parameters:
    ///   - bytes: The body; it need not be an image.
    ///   - mediaType: The `Content-Type`. Default: `image/png`.
    ///   - etag: The `ETag`, with its quotes. Default: none.
    ///   - lastModified: The `Last-Modified` date as text. Default: none.
    ///   - cacheControl: The `Cache-Control`. Default: none.
    public static func image(
        _ bytes: [UInt8],
        mediaType: String = "image/png",
        etag: String? = nil,
        lastModified: String? = nil,
        cacheControl: String? = nil
    ) -> Self {
        var headers: LoopbackOrigin.Headers = ["Content-Type": mediaType]
        headers["ETag"] = etag
        headers["Last-Modified"] = lastModified
        headers["Cache-Control"] = cacheControl
        return Self(headers: headers, body: .bytes(bytes), answersConditionalRequests: true)
    }

    /// A status without a body, such as 404 or 503.
    public static func status(_ status: Int, headers: LoopbackOrigin.Headers = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A redirect to `location`, an absolute or relative URL. Default status: 302.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// Sends `bytes` in place of an HTTP response, then closes the connection.
    public static func raw(_ bytes: [UInt8]) -> Self {
        Self(body: .bytes(bytes), behaviour: .verbatim)
    }

    /// Sends nothing and keeps the connection open.
    public static let hang = Self(behaviour: .hang)

    /// Sends nothing and closes the connection.
    public static let closed = Self(behaviour: .closeBeforeAnswer)
}

extension LoopbackOrigin {
    /// The body of a response. Only its beginning is in memory; the rest are zeros made while it is sent.
    public struct Body: Sendable {
        /// The length in bytes.
        public let byteCount: Int
        /// The first bytes; zeros follow up to `byteCount`.
        let beginning: ByteBuffer

        /// A body of 0 bytes.
        public static let empty = Body(byteCount: 0, beginning: ByteBuffer())

        /// A body of these bytes.
        public static func bytes(_ bytes: [UInt8]) -> Body {
            Body(byteCount: bytes.count, beginning: ByteBuffer(bytes: bytes))
        }

        /// A body of this text in UTF-8.
        public static func text(_ text: String) -> Body {
            bytes(Array(text.utf8))
        }

        /// A body that is generated as fast as the client reads it, so that its length takes no memory.
        ///
        /// - Parameters:
        ///   - byteCount: The length in bytes. A number below the length of `beginning` is raised to it.
        ///   - beginning: The first bytes, such as those of an image; zeros follow. Default: none.
        public static func generated(byteCount: Int, beginning: [UInt8] = []) -> Body {
            Body(byteCount: max(byteCount, beginning.count), beginning: ByteBuffer(bytes: beginning))
        }
    }
}

extension LoopbackOrigin {
    /// How a response goes over the wire.
    public enum Behaviour: Sendable, Hashable {
        /// As HTTP requires, at full speed. The connection stays open unless the request or the response has
        /// `Connection: close`.
        case normal
        /// Sends the body in pieces of `byteCount` bytes (at least 1): one at once, then one every `interval`.
        case drip(byteCount: Int, interval: Duration)
        /// Sends the body in chunks of at most 4,096 bytes, without a `Content-Length` (RFC 9112 section 7.1).
        case chunked
        /// Announces the whole length in `Content-Length`, but closes the connection after this many bytes of the body.
        case cutShort(after: Int)
        /// Announces `contentLength`, whatever the body's length; sends the body as it is and closes the connection.
        case announcing(contentLength: Int)
        /// Sends the head only, then closes the connection.
        case closeAfterHead
        /// Sends nothing and closes the connection.
        case closeBeforeAnswer
        /// Sends nothing. The connection stays open until the client closes it or the origin stops.
        case hang
        /// Sends the body byte for byte in place of an HTTP response, then closes the connection. Status and header
        /// fields are not sent.
        case verbatim
    }
}

extension LoopbackOrigin {
    /// Holds responses back until the test opens it. Unlike a delay, it needs no guess about how long the test takes.
    public final class Gate: Sendable {
        private let state = Locked(false)

        /// A closed gate.
        public init() {}

        /// Lets the responses go. An open gate cannot be closed.
        public func open() {
            state.withLock { $0 = true }
        }

        var isOpen: Bool { state.withLock { $0 } }
    }
}
