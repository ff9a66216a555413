import AvatarCore
import AvatarMaintenance
import AvatarStore
import HTTPTypes

/// Contacts, changes and the state of the store, for programs.
extension AvatarResponder {
    /// The range of `limit`.
    static let limits = 1...1000

    /// `GET /contacts`.
    func contacts(_ target: RequestTarget) throws -> AvatarResponse {
        let limit = target.query["limit"].map { Int($0) ?? 0 } ?? 100
        guard Self.limits.contains(limit) else {
            return .problem(.badRequest, "`limit` must be a number between 1 and \(Self.limits.upperBound).")
        }
        let page = try store.contacts(
            matching: target.query["query"] ?? "",
            after: target.query["after"],
            limit: limit
        )
        let digests = try store.keyDigests()
        let answer = ContactList(contacts: page.contacts.map { .init($0, digests) }, next: page.next)
        return AvatarResponse(.ok, "application/json", JSONText.bytes(answer), cache: "private, no-cache")
    }

    private struct ContactList: Encodable {
        struct Contact: Encodable {
            let id: String
            let name: String?
            /// The key as in messages: without a query, which may be secret.
            let key: String?
            /// The digest of the whole key.
            let image: String?
            let state: String?
            let picture: String
            /// The names of the lists and address books that name the contact; of a path only its last part.
            let sources: [String]

            init(_ contact: StoredContact, _ digests: KeyDigests) {
                id = contact.id
                name = contact.name
                key = contact.key?.description
                image = contact.key.map { digests[$0] }
                state = contact.state?.rawValue
                picture = AvatarResponder.contactImagePath(contact.id)
                sources = contact.sources.map(AvatarResponder.sourceName)
            }

            // Fields without a value are null, so that each contact has the same fields.
            func encode(to encoder: any Encoder) throws {
                var fields = encoder.container(keyedBy: Field.self)
                try fields.encode(id, forKey: .id)
                try fields.encode(name, forKey: .name)
                try fields.encode(key, forKey: .key)
                try fields.encode(image, forKey: .image)
                try fields.encode(state, forKey: .state)
                try fields.encode(picture, forKey: .picture)
                try fields.encode(sources, forKey: .sources)
            }

            private enum Field: CodingKey {
                case id, name, key, image, state, picture, sources
            }
        }

        let contacts: [Contact]
        let next: String?

        func encode(to encoder: any Encoder) throws {
            var fields = encoder.container(keyedBy: Field.self)
            try fields.encode(contacts, forKey: .contacts)
            try fields.encode(next, forKey: .next)
        }

        private enum Field: CodingKey {
            case contacts, next
        }
    }

    /// The name of a list or an address book in a response: without the folders of a path on this machine.
    static func sourceName(_ name: String) -> String {
        guard name.hasPrefix("/"), let last = name.split(separator: "/").last else { return name }
        return String(last)
    }

    // MARK: Changes

    /// `GET /changes`: a page of JSON, or events without an end.
    func changes(_ target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        let accepted = AcceptedTypes(request.headerFields)
        let weight = accepted.weight(of: "text/event-stream")
        let wantsEvents = weight > 0 && weight >= accepted.weight(of: "application/json")
        // A browser that connects again names the last event that it got, and the same path as before.
        let numbers = [request.headerFields[.lastEventID], target.query["since"]].compactMap { $0 }
            .map { Int64($0) ?? -1 }
        guard numbers.allSatisfy({ $0 >= 0 }) else {
            return .problem(.badRequest, "`since` and Last-Event-ID must be the number of a change, at least 0.")
        }
        let since = numbers.first
        if wantsEvents { return try changeEvents(since: since) }
        do {
            return try changePage(since: since ?? 0)
        } catch let error as AvatarStoreError where error.code == .startOver {
            return try .problem(.gone, error.message, startOverFrom: store.lastChange())
        }
    }

    /// A number that the feed cannot go on from is told by an event too: an `EventSource` that gets an error never connects again.
    private func changeEvents(since: Int64?) throws -> AvatarResponse {
        let begin = try since ?? store.lastChange()
        let fields: HTTPFields = [
            .contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store",
            .xAccelBuffering: "no",
        ]
        return AvatarResponse(
            head: HTTPResponse(status: .ok, headerFields: fields),
            body: .events(ChangeEvents(store: store, sequence: begin))
        )
    }

    private func changePage(since: Int64) throws -> AvatarResponse {
        let changes = try store.changes(since: since)
        let answer = ChangePage(
            changes: try ChangeRecord.records(of: changes, in: store),
            next: changes.last?.sequence ?? since
        )
        return AvatarResponse(.ok, "application/json", JSONText.bytes(answer), cache: "private, no-cache")
    }

    private struct ChangePage: Encodable {
        let changes: [ChangeRecord]
        /// The number to pass as `since` next.
        let next: Int64
    }

    // MARK: State

    /// `GET /readyz`: reads the index. A sync that could not run does not make the stored images unavailable, so it is only named.
    func readiness() throws -> AvatarResponse {
        let hasFailed = try store.lastSync()?.outcome == .failed
        return text(
            "The store is open.\n"
                + (hasFailed
                    ? "The last sync could not run (exit code 2): a list, an address book or the store could not be read.\n"
                    : "")
        )
    }

    /// `GET /metrics`.
    func metrics() throws -> AvatarResponse {
        let text = try store.statistics().prometheus
        return AvatarResponse(.ok, "text/plain; version=0.0.4; charset=utf-8", Array(text.utf8))
    }

    /// The document that describes these routes.
    static let openAPI = PackageResources.openapi_json
}

extension HTTPField.Name {
    /// The number of the last event that a client got (HTML, server-sent events).
    static let lastEventID = HTTPField.Name("Last-Event-ID").unsafelyUnwrapped
    /// Tells nginx not to hold events back.
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering").unsafelyUnwrapped
}
