import AvatarCore
import AvatarStore

/// A body as the pieces that a server sends one after the other; a body without content has no piece.
extension AvatarResponse.Body: AsyncSequence {
    /// Bytes to send: all of a small body, at most 65,536 of a file, or some events.
    public typealias Element = [UInt8]

    /// The bytes of a file that are read at once.
    private static let pieceSize = 64 << 10

    /// The number of bytes in all pieces; `nil` for events, which have no end.
    public var length: Int? {
        switch self {
        case .none: 0
        case .bytes(let bytes): bytes.count
        case .file(_, let range): range.count
        case .events: nil
        }
    }

    /// Begins with the first piece.
    public func makeAsyncIterator() -> Iterator {
        switch self {
        case .none: Iterator(rest: .bytes([]))
        case .bytes(let bytes): Iterator(rest: .bytes(bytes))
        case .file(let image, let range): Iterator(rest: .file(image, range))
        case .events(let events): Iterator(rest: .events(events.makeAsyncIterator()))
        }
    }

    /// The position of one server in a body.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate enum Rest {
            case bytes([UInt8])
            case file(OpenImage, Range<Int>)
            case events(ChangeEvents.Iterator)
        }

        private var rest: Rest

        fileprivate init(rest: Rest) {
            self.rest = rest
        }

        /// The next piece, which is not empty; `nil` at the end. Blocks for the disk while it reads a piece of a file, and
        /// waits for events as `ChangeEvents.Iterator.next()` does.
        ///
        /// - Throws: `storage` if the file is shorter than Content-Length says; an error of the disk or the index. The head
        ///   is sent by then, so the server must close the connection.
        public mutating func next() async throws -> [UInt8]? {
            switch rest {
            case .bytes(let bytes):
                rest = .bytes([])
                return bytes.isEmpty ? nil : bytes
            case .file(let image, let range):
                guard !range.isEmpty else { return nil }
                let place = range.lowerBound
                let bytes = try image.bytes(at: place, count: Swift.min(AvatarResponse.Body.pieceSize, range.count))
                guard !bytes.isEmpty else { throw Self.tooShort(image, place) }
                rest = .file(image, place + bytes.count..<range.upperBound)
                return bytes
            case .events(var events):
                let piece = try await events.next()
                rest = .events(events)
                return piece
            }
        }

        private static func tooShort(_ open: OpenImage, _ place: Int) -> AvatarStoreError {
            AvatarStoreError(
                .storage,
                """
                The file of "\(open.image.key)" ends after \(place) bytes instead of \(open.image.sizeBytes). Run \
                `avatars verify --repair`.
                """
            )
        }
    }
}
