import AvatarStore
import ServiceLifecycle

/// The changes of a store as server-sent events: an endless sequence of pieces of text in UTF-8.
///
/// Nothing is buffered for a slow reader: a piece is made when it is asked for. A reader that is so slow that the store no
/// longer keeps the changes gets the event `startOver` and then the end. Its id is the number from which the reader continues
/// after it has looked at all contacts.
///
/// The events end when their task is cancelled, and within a second after a graceful shutdown of swift-service-lifecycle has
/// begun.
public struct ChangeEvents: AsyncSequence, Sendable {
    /// A piece of the stream: some events, or a comment that keeps the connection alive.
    public typealias Element = [UInt8]

    let store: AvatarStore
    /// The number of the last change that the reader has processed.
    let sequence: Int64

    /// The number of changes in one piece.
    private static let mostChanges = 100
    /// The number of looks at the index, one per second, after which a comment is sent.
    private static let looksPerComment = 15

    /// Starts after the change that the reader has processed.
    public func makeAsyncIterator() -> Iterator {
        Iterator(store: store, sequence: sequence)
    }

    /// The position of one reader.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: AvatarStore
        private var sequence: Int64
        private var hasBegun = false
        private var hasEnded = false

        fileprivate init(store: AvatarStore, sequence: Int64) {
            self.store = store
            self.sequence = sequence
        }

        /// The next piece; waits until there is one, at most 15 seconds. `nil` at the end, once the task is cancelled, and
        /// after a graceful shutdown has begun.
        ///
        /// - Throws: an error of the index.
        public mutating func next() async throws -> [UInt8]? {
            guard !hasEnded else { return nil }
            guard hasBegun else {
                hasBegun = true
                return Array("retry: 5000\n\n".utf8)
            }
            for _ in 0..<ChangeEvents.looksPerComment {
                guard !Task.isShuttingDownGracefully else { return nil }
                do {
                    try store.requireCurrentIndex()
                    let changes = try store.changes(since: sequence, limit: ChangeEvents.mostChanges)
                    if let last = changes.last {
                        sequence = last.sequence
                        return try events(changes)
                    }
                    try await Task.sleep(for: .seconds(1))
                } catch let error as AvatarStoreError where error.code == .startOver {
                    hasEnded = true
                    let next = try store.lastChange()
                    return Array("id: \(next)\nevent: startOver\ndata: {\"next\":\(next),\"startOver\":true}\n\n".utf8)
                } catch is CancellationError {
                    return nil
                }
            }
            return Array(": no change\n\n".utf8)
        }

        /// The events of `changes`.
        private func events(_ changes: [AvatarChange]) throws -> [UInt8] {
            let names = try store.names(ofContacts: changes.flatMap(\.contacts))
            var text: [UInt8] = []
            for change in changes {
                text += Array("id: \(change.sequence)\nevent: change\ndata: ".utf8)
                text += JSONText.line(ChangeRecord(change, names: names))
                text += Array("\n\n".utf8)
            }
            return text
        }
    }
}

/// A change as `/changes` gives it: the fields of `avatars changes --json`.
struct ChangeRecord: Encodable {
    private let sequence: Int64
    private let key: String
    private let owners: [String]
    private let names: [String: String]
    private let kind: String
    private let digest: String
    private let time: String

    /// The record of `change`, with those of `names` that its contacts have.
    init(_ change: AvatarChange, names: [String: String]) {
        sequence = change.sequence
        key = change.key.rawValue
        owners = change.contacts
        self.names = names.filter { change.contacts.contains($0.key) }
        kind = change.kind.rawValue
        digest = change.digest
        time = change.time.iso8601
    }
}
