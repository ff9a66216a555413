import AvatarCore
import AvatarStore
import Crypto
import Foundation
import HTTPTypes

/// The pages for people.
extension AvatarResponder {
    /// The number of contacts on one page of the gallery.
    private static let pageSize = 60
    /// A browser may load pictures from here and apply the style of the page, and nothing else.
    private static let policy =
        "default-src 'none'; img-src 'self'; style-src '\(styleDigest)'; form-action 'self'; base-uri 'none'; "
        + "frame-ancestors 'none'"
    private static let styleDigest =
        "sha256-" + Data(SHA256.hash(data: Data(PageStyle.css.utf8))).base64EncodedString()

    /// `GET /favicon.svg`: a person in a circle.
    static let icon = Array(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="#0b5fce"/>\
        <circle cx="16" cy="13" r="5" fill="#fff"/><path d="M6 27a10 8 0 0 1 20 0z" fill="#fff"/></svg>

        """.utf8
    )

    /// `GET /`.
    func gallery(_ target: RequestTarget) throws -> AvatarResponse {
        let query = target.query["query"] ?? ""
        let page = try store.contacts(matching: query, after: target.query["after"], limit: Self.pageSize)
        let gallery = GalleryPage(
            contacts: page.contacts.map(PageContact.init),
            query: query,
            firstPath: target.query["after"] == nil ? nil : Self.galleryPath(query: query),
            nextPath: page.next.map { Self.galleryPath(query: query, after: $0) }
        )
        return html(.ok, gallery.html())
    }

    /// `GET /contacts/ID`.
    func page(ofContact id: String) throws -> AvatarResponse {
        guard let contact = try store.contact(id) else {
            let page = StatusPage(
                title: "Not found",
                text: "The store has no contact with this id."
            )
            return html(.notFound, page.html())
        }
        let details = try contact.key.flatMap { try store.details(for: $0) }
        let page = ContactPage(
            contact: PageContact(contact),
            facts: [("id", id)] + (details.map(facts) ?? []),
            reasons: details?.reasons ?? ["No list names a picture for this contact."]
        )
        return html(.ok, page.html())
    }

    private func html(_ status: HTTPResponse.Status, _ text: String) -> AvatarResponse {
        AvatarResponse(
            status,
            "text/html; charset=utf-8",
            Array(text.utf8),
            cache: "private, no-cache",
            fields: [.contentSecurityPolicy: Self.policy]
        )
    }

    private static func galleryPath(query: String, after: String? = nil) -> String {
        var parameters: [String] = []
        if !query.isEmpty { parameters.append("query=" + RequestTarget.encoded(query)) }
        if let after { parameters.append("after=" + RequestTarget.encoded(after)) }
        return parameters.isEmpty ? "/" : "/?" + parameters.joined(separator: "&")
    }

    /// The lines of the page of a contact. A path of the server is none of them.
    private func facts(_ details: AvatarDetails) -> [(name: String, value: String)] {
        let overview = details.overview
        let facts: [(String, String?)] = [
            ("source", overview.sourceURL.map { AvatarKey.redact($0) }), ("state", overview.state.rawValue),
            ("image", details.mediaType.map { "\($0), \(details.width ?? 0)×\(details.height ?? 0)" }),
            ("size", overview.sizeBytes.map { ByteSize.text($0) }), ("SHA-256", details.sha256),
            ("fetched", details.fetched?.iso8601), ("checked", overview.checkedAt?.iso8601),
            ("fresh until", overview.freshUntil?.iso8601), ("last failure", details.failure?.rawValue),
        ]
        return facts.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}

extension PageContact {
    /// `contact` with its paths on this server.
    init(_ contact: StoredContact) {
        self.init(
            id: contact.id,
            name: contact.name,
            state: contact.state?.rawValue,
            picturePath: AvatarResponder.picturePath(contact.id) + "?placeholder=initials",
            detailPath: "/contacts/\(RequestTarget.encoded(contact.id))"
        )
    }
}
