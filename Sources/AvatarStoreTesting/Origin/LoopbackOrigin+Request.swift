import NIOHTTP1

extension LoopbackOrigin {
    /// A request as it arrived. Its body, if it had one, was read and dropped.
    public struct Request: Sendable {
        /// The method, such as `GET`.
        public let method: String
        /// The request target as spelled: the path, and the query if there is one.
        public let target: String
        /// The target without its query.
        public let path: String
        /// The header fields.
        public let headers: Headers
        /// The number of the connection it came on, counted from 1; equal numbers mean a connection that was kept
        /// alive.
        public let connection: Int

        /// Whether the client lets the connection live on after the answer.
        let keepsAlive: Bool

        init(_ head: HTTPRequestHead, connection: Int) {
            method = head.method.rawValue
            target = head.uri
            path = head.uri.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(head.uri[..<$0]) } ?? head.uri
            headers = Headers(head.headers.map { Headers.Field(name: $0.name, value: $0.value) })
            self.connection = connection
            keepsAlive = head.isKeepAlive
        }
    }
}
