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
