import NIOCore

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
