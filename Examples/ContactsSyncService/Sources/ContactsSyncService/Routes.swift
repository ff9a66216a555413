import AvatarPlaceholder
import AvatarStore
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The HTTP routes of the service.
enum Routes {
    static func router(_ store: AvatarStore) -> Router<BasicRequestContext> {
        let router = Router()
        router.get("contacts/:id/picture") { request, context in
            // The router gives the part of the path as it was sent, such as `a%20b.vcf`.
            try picture(of: ContactID.of(name: context.parameters.require("id")), request, store)
        }
        router.get("changes") { request, _ in
            try changes(since: request.uri.queryParameters.get("since", as: Int64.self) ?? 0, store)
        }
        return router
    }

    /// Returns the stored picture of a contact, without any request. Without one, returns 404 with a placeholder, so that
    /// it is never taken for a picture: initials if the caller gives the name (`?name=Ada%20Lovelace`), else a silhouette.
    private static func picture(of id: String, _ request: Request, _ store: AvatarStore) throws -> Response {
        guard let image = try store.avatar(forContact: id) else {
            let placeholder = AvatarPlaceholder(id: id, name: request.uri.queryParameters.get("name"))
            var headers: HTTPFields = [.contentType: AvatarPlaceholder.mediaType]
            if let name = HTTPField.Name("Avatar-Placeholder") { headers[name] = "true" }
            return Response(
                status: .notFound,
                headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(string: placeholder.svg()))
            )
        }
        return Response(
            status: .ok,
            headers: [.contentType: image.mediaType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: image.bytes))
        )
    }

    private struct Change: Encodable {
        var sequence: Int64
        var kind: String
        var contacts: [String]
        var digest: String
    }

    /// Returns the changes after the number `sequence`. 410 means that the feed does not reach back so far: the caller looks
    /// at all contacts and continues from the number in the response.
    private static func changes(since sequence: Int64, _ store: AvatarStore) throws -> Response {
        do {
            let changes = try store.changes(since: sequence).map {
                Change(sequence: $0.sequence, kind: $0.kind.rawValue, contacts: $0.contacts, digest: $0.digest)
            }
            return try json(changes, .ok)
        } catch let error as AvatarStoreError where error.code == .startOver {
            return try json(["startOver": try store.lastChange()], .gone)
        }
    }

    private static func json(_ value: some Encodable, _ status: HTTPResponse.Status) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(data: try encoder.encode(value)))
        )
    }
}
