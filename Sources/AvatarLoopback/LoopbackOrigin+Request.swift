import NIOHTTP1

extension LoopbackOrigin {
    /// Header fields in the order in which they are on the wire; names compare without regard to case (RFC 9110 section
    /// 5.1). Nothing is checked, so that a test can also send what is not allowed.
    public struct Headers: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
        /// One line of a header: a name and a value, as spelled.
        public struct Field: Sendable, Hashable {
            /// The name as spelled.
            public var name: String
            /// The value, without the spaces around it.
            public var value: String

            /// A field `name` with `value`.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        /// Every field, in order.
        public var fields: [Field]

        /// These fields, in this order.
        public init(_ fields: [Field] = []) {
            self.fields = fields
        }

        /// The fields of a literal such as `["Content-Type": "image/png"]`, in its order; names may repeat.
        public init(dictionaryLiteral elements: (String, String)...) {
            fields = elements.map { Field(name: $0.0, value: $0.1) }
        }

        /// The value of the first field with this name. Setting it replaces all fields of the name by one at the end;
        /// setting `nil` removes them.
        public subscript(name: String) -> String? {
            get { fields.first { Self.isSame($0.name, name) }?.value }
            set {
                fields.removeAll { Self.isSame($0.name, name) }
                guard let newValue else { return }
                fields.append(Field(name: name, value: newValue))
            }
        }

        /// The values of every field with this name, in order.
        public func values(for name: String) -> [String] {
            fields.filter { Self.isSame($0.name, name) }.map(\.value)
        }

        /// Adds a field at the end, also if there is one with this name already.
        public mutating func append(_ name: String, _ value: String) {
            fields.append(Field(name: name, value: value))
        }

        /// One line for each field.
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
