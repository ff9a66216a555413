import NIOHTTP1

extension LoopbackOrigin {
    /// Header fields in the order of the wire. Names compare case-insensitively (RFC 9110 section 5.1). Names and values
    /// are not checked, so that a test can also send invalid ones.
    public struct Headers: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
        /// One line of a header: a name and a value.
        public struct Field: Sendable, Hashable {
            /// The name as spelled.
            public var name: String
            /// The value, without the whitespace around it.
            public var value: String

            /// Makes a field.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        /// All fields, in order.
        public var fields: [Field]

        /// Makes a header of `fields`, in this order. Default: an empty one.
        public init(_ fields: [Field] = []) {
            self.fields = fields
        }

        /// Makes a header from a literal such as `["Content-Type": "image/png"]`, in its order. Names may repeat.
        public init(dictionaryLiteral elements: (String, String)...) {
            fields = elements.map { Field(name: $0.0, value: $0.1) }
        }

        /// The value of the first field named `name`; `nil` without one. Setting a value removes all fields of that
        /// name and appends one; setting `nil` only removes them.
        public subscript(name: String) -> String? {
            get { fields.first { Self.isSame($0.name, name) }?.value }
            set {
                fields.removeAll { Self.isSame($0.name, name) }
                guard let newValue else { return }
                fields.append(Field(name: name, value: newValue))
            }
        }

        /// The values of all fields named `name`, in order.
        public func values(for name: String) -> [String] {
            fields.filter { Self.isSame($0.name, name) }.map(\.value)
        }

        /// Appends a field, even if one of this name is there already.
        public mutating func append(_ name: String, _ value: String) {
            fields.append(Field(name: name, value: value))
        }

        /// One line for each field: `name: value`.
        public var description: String {
            fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
        }

        private static func isSame(_ left: String, _ right: String) -> Bool {
            left.utf8.count == right.utf8.count
                && zip(left.utf8, right.utf8).allSatisfy { lowercase($0) == lowercase($1) }
        }

        private static func lowercase(_ letter: UInt8) -> UInt8 {
            letter >= 0x41 && letter <= 0x5A ? letter | 0x20 : letter
        }
    }
}

extension LoopbackOrigin {
    /// A request as it arrived.
    public struct Request: Sendable {
        /// The method, such as `GET`.
        public let method: String
        /// The request target as spelled: the path, with the query if there is one.
        public let target: String
        /// The target without its query.
        public let path: String
        /// The header fields.
        public let headers: Headers
        /// The first MiB of its body; the rest was discarded.
        package let body: [UInt8]
        /// The number of its connection, counted from 1. Requests with equal numbers shared a connection.
        public let connection: Int

        /// Whether the client lets the connection stay open after the response.
        let keepsAlive: Bool

        init(_ head: HTTPRequestHead, body: [UInt8], connection: Int) {
            self.body = body
            method = head.method.rawValue
            target = head.uri
            path = head.uri.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(head.uri[..<$0]) } ?? head.uri
            headers = Headers(head.headers.map { Headers.Field(name: $0.name, value: $0.value) })
            self.connection = connection
            keepsAlive = head.isKeepAlive
        }
    }
}
