import NIOCore
import Synchronization

extension LoopbackOrigin {
    /// What the origin answers: status, header fields and body, when, and how well behaved.
    ///
    /// Start from one of the makers (`image`, `status`, `redirect`, `raw`, `hang`, `closed`) or from `init`, and change
    /// what the test is about: `.image(png).behaving(.cutShort(after: 100))`.
    public struct Response: Sendable {
        /// The status code. With 1xx, 204 and 304, and in answer to HEAD, the body is not sent.
        public var status: Int
        /// The header fields. `Content-Length` is added unless it, or `Transfer-Encoding`, is here.
        public var headers: Headers
        /// The body.
        public var body: Body
        /// How long to wait before anything is sent; none by default.
        public var delay: Duration
        /// What has to be opened before anything is sent; nothing by default.
        public var gate: Gate?
        /// How the response goes over the wire; normal by default.
        public var behaviour: Behaviour
        /// Whether a 200 takes part in conditional requests (RFC 9110 sections 13.2.2 and 14.2): a GET or HEAD whose
        /// `If-None-Match` or `If-Modified-Since` matches `ETag` or `Last-Modified` in `headers` gets a 304 instead,
        /// and a GET with one byte `Range` gets a 206. False by default, true for `image`.
        ///
        /// As many servers do, `If-Modified-Since` matches only the very same text as `Last-Modified`.
        public var answersConditionalRequests: Bool

        /// A response as described at each property.
        public init(
            status: Int = 200,
            headers: Headers = [:],
            body: Body = .empty,
            delay: Duration = .zero,
            behaviour: Behaviour = .normal,
            answersConditionalRequests: Bool = false
        ) {
            self.status = status
            self.headers = headers
            self.body = body
            self.delay = delay
            self.behaviour = behaviour
            self.answersConditionalRequests = answersConditionalRequests
        }

        /// The same response, `delay` later.
        public func delayed(by delay: Duration) -> Response {
            var copy = self
            copy.delay = delay
            return copy
        }

        /// The same response, once `gate` is open.
        public func held(by gate: Gate) -> Response {
            var copy = self
            copy.gate = gate
            return copy
        }

        /// The same response, sent in another way.
        public func behaving(_ behaviour: Behaviour) -> Response {
            var copy = self
            copy.behaviour = behaviour
            return copy
        }
    }
}

extension LoopbackOrigin.Response {
    /// An image with its validators, which answers conditional and range requests.
    ///
    /// - Parameters:
    ///   - bytes: The image, or whatever else is to be sent as one.
    ///   - mediaType: The `Content-Type`.
    ///   - etag: The `ETag`, with its quotes; none by default.
    ///   - lastModified: The `Last-Modified` date as text; none by default.
    ///   - cacheControl: The `Cache-Control`; none by default.
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

    /// A status with no body, such as 404 or 503.
    public static func status(_ status: Int, headers: LoopbackOrigin.Headers = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A redirect to `location`, absolute or relative; 302 by default.
    public static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status: status, headers: ["Location": location])
    }

    /// These bytes instead of a response, then the end of the connection.
    public static func raw(_ bytes: [UInt8]) -> Self {
        Self(body: .bytes(bytes), behaviour: .verbatim)
    }

    /// No answer, on a connection that stays open.
    public static let hang = Self(behaviour: .hang)

    /// No answer, and the end of the connection.
    public static let closed = Self(behaviour: .closeBeforeAnswer)
}

extension LoopbackOrigin {
    /// The body of a response: bytes in memory, or a length of which only the beginning is in memory.
    public struct Body: Sendable {
        /// How many bytes there are in all.
        public let byteCount: Int
        /// The first of them; those after it are zeros.
        let beginning: ByteBuffer

        /// No bytes.
        public static let empty = Body(byteCount: 0, beginning: ByteBuffer())

        /// These bytes.
        public static func bytes(_ bytes: [UInt8]) -> Body {
            Body(byteCount: bytes.count, beginning: ByteBuffer(bytes: bytes))
        }

        /// This text in UTF-8.
        public static func text(_ text: String) -> Body {
            bytes(Array(text.utf8))
        }

        /// A body that is made while it is sent, only as fast as the client reads, so that its length costs no memory.
        ///
        /// - Parameters:
        ///   - byteCount: The length; at least that of `beginning`.
        ///   - beginning: The first bytes, such as those of an image; zeros follow.
        public static func generated(byteCount: Int, beginning: [UInt8] = []) -> Body {
            Body(byteCount: max(byteCount, beginning.count), beginning: ByteBuffer(bytes: beginning))
        }
    }
}

extension LoopbackOrigin {
    /// How a response goes over the wire.
    public enum Behaviour: Sendable, Hashable {
        /// As HTTP says, at full speed. The connection stays open unless the request or the response says
        /// `Connection: close`.
        case normal
        /// The body in pieces of `byteCount` bytes (at least 1): one at once, then one every `interval`.
        case drip(byteCount: Int, interval: Duration)
        /// The body in chunks of at most 4,096 bytes, without a `Content-Length` (RFC 9112 section 7.1).
        case chunked
        /// `Content-Length` tells the whole length, but the connection closes after `byteCount` bytes of the body.
        case cutShort(after: Int)
        /// `Content-Length` says `contentLength`, the body is sent as it is, then the connection closes.
        case announcing(contentLength: Int)
        /// Only the head; then the connection closes.
        case closeAfterHead
        /// Nothing; the connection closes.
        case closeBeforeAnswer
        /// Nothing; the connection stays open until the client closes it or the origin stops.
        case hang
        /// The body instead of a response, byte for byte, whatever it is; then the connection closes. Status and header
        /// fields are not sent.
        case verbatim
    }
}

extension LoopbackOrigin {
    /// Keeps answers back until the test has seen what it waits for; a delay would have to guess how long that takes.
    public final class Gate: Sendable {
        private let state = Mutex(false)

        /// A closed gate.
        public init() {}

        /// Lets the answers go. A gate is not closed again.
        public func open() {
            state.withLock { $0 = true }
        }

        var isOpen: Bool { state.withLock { $0 } }
    }
}
