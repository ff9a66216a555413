import AvatarFoundation
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
                    try await Deadlines.shared.sleep(for: .seconds(1))
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
            var text: [UInt8] = []
            for record in try ChangeRecord.records(of: changes, in: store) {
                text += Array("id: \(record.sequence)\nevent: change\ndata: ".utf8)
                text += JSONText.line(record)
                text += Array("\n\n".utf8)
            }
            return text
        }
    }
}

/// A change as `/changes` gives it: the fields of `avatars changes --json`, but the key as in messages, without a query that may
/// be secret, and beside it the digest of the whole key.
struct ChangeRecord: Encodable {
    fileprivate let sequence: Int64
    // An erasure names no image.
    private let key: String?
    private let image: String?
    private let digest: String?
    private let owners: [String]
    private let names: [String: String]
    /// The names of the lists and address books that name the contacts now, by contact; of a path only its last part.
    private let sources: [String: [String]]
    private let kind: String
    private let time: String
    /// The erased contact, as `ErasedContact` hashes it; `nil` for other changes.
    private let salt: String?
    private let contactSHA256: String?

    /// The records of `changes`, with the names of their contacts.
    static func records(of changes: [AvatarChange], in store: AvatarStore) throws -> [ChangeRecord] {
        guard !changes.isEmpty else { return [] }
        let (names, digests) = (try store.names(ofContacts: changes.flatMap(\.contacts)), try store.keyDigests())
        return changes.map { ChangeRecord($0, names, digests) }
    }

    /// The record of `change`, with those of `names` that its contacts have.
    private init(_ change: AvatarChange, _ names: [String: String], _ digests: KeyDigests) {
        sequence = change.sequence
        let isErasure = change.kind == .erased
        key = isErasure ? nil : change.key.description
        image = isErasure ? nil : digests[change.key]
        digest = isErasure ? nil : change.digest
        (salt, contactSHA256) = (change.erased?.salt, change.erased?.sha256)
        owners = change.contacts
        self.names = names.filter { change.contacts.contains($0.key) }
        sources = change.sources.mapValues { $0.map(AvatarResponder.sourceName) }
        kind = change.kind.rawValue
        time = change.time.iso8601
    }
}
