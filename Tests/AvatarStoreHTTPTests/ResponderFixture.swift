import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

/// A store with four contacts, and a responder on it: Ada has a fetched image, Ben none, Carl an embedded photo, and the id
/// of the fourth needs every kind of encoding.
struct ResponderFixture {
    static let face = SampleImage.png(seed: 1, byteCount: 4000)
    static let photo = SampleImage.png(seed: 2, byteCount: 100_000)
    static let oddID = "a/b %2F?#é\"<x>"
    static let oddPath = "/contacts/a%2Fb%20%252F%3F%23%C3%A9%22%3Cx%3E"

    let store: StoreFixture
    let responder: AvatarResponder

    static func with(
        _ configuration: AvatarResponder.Configuration = .init(),
        _ body: (ResponderFixture) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore { store in
            let url = store.serve(face, at: "/ada.png", etag: "\"1\"")
            var options = SyncOptions()
            options.list = "/srv/lists/people.csv"
            let contacts = [
                Contact(id: "ada", name: "Ada Lovelace", avatarURL: url), Contact(id: "ben", name: "Ben <b>Bold</b>"),
                Contact(id: "carl", name: "Carl", images: [.photo(ContactPhoto(bytes: photo))]),
                Contact(id: oddID, name: "\"Zoë\" & Co", avatarURL: url),
            ]
            _ = try await store.store.sync(contacts: contacts, options: options)
            let requests = store.origin.requestCount
            let responder = AvatarResponder(store: store.store, configuration: configuration)
            try await body(ResponderFixture(store: store, responder: responder))
            // No answer makes the store send a request.
            #expect(store.origin.requestCount == requests)
            #expect(try await store.store.verify().faults.isEmpty)
        }
    }

    /// The answer to a request with these fields.
    func ask(_ path: String, _ fields: HTTPFields = [:], method: HTTPRequest.Method = .get) -> Answer {
        let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
        guard let response = responder.respondAtOnce(to: request) else {
            Issue.record("A rendition must be made first.")
            return Answer(responder.refusal(.internalServerError, ""))
        }
        return Answer(response)
    }
}

/// An answer as a client sees it.
struct Answer {
    let status: Int
    var fields: HTTPFields
    let bytes: [UInt8]

    init(_ response: AvatarResponse) {
        status = response.head.status.code
        fields = response.head.headerFields
        switch response.body {
        case .none, .events: bytes = []
        case .bytes(let held): bytes = held
        case .file(let image, let range):
            bytes = (try? image.bytes(at: range.lowerBound, count: range.count)) ?? []
        }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The body as a JSON object.
    func object() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    /// Whether the answer is a problem in JSON that names no path of this machine.
    var isProblem: Bool {
        fields[.contentType] == "application/problem+json" && !text.contains("/tmp") && text.contains("\"detail\"")
    }
}
