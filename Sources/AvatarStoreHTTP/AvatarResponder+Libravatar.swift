import AvatarPlaceholder
import AvatarStore
import HTTPTypes

/// The interface of Libravatar and Gravatar: images by digests of e-mail addresses.
///
/// Digests of addresses can be guessed, so a response must not reveal whether an address is known. An address without an image
/// and an unknown address get the same response, which depends on the request alone, after the same look-up.
extension AvatarResponder {
    /// The sizes that a client may request, in pixels. A stored image is sent in the next larger size of `Rendition.sizes`.
    private static let sizes = 1...2048
    /// The size of a default image if the client asks for none, or for one that is not allowed.
    private static let usualSize = 80
    /// The time that a client may keep an image or a default image.
    private static let lifetime = "max-age=300"

    /// `GET /avatar/HASH`, where HASH may have a file extension.
    ///
    /// Libravatar and Gravatar show the default image for a HASH that is not a digest, and so does this.
    func avatar(named name: String, _ target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        func parameter(_ short: String, _ long: String) -> String? { target.query[short] ?? target.query[long] }
        let fallback = (parameter("d", "default") ?? "").lowercased()
        guard !fallback.contains(where: { $0 == ":" || $0 == "/" }) else {
            return .problem(.badRequest, "`d` must be 404, mp, initials or blank. This server redirects to no URL.")
        }
        let digest = name.prefix { $0 != "." }.lowercased()
        let side = parameter("s", "size").flatMap(Int.init).flatMap { Self.sizes.contains($0) ? $0 : nil }
        let size = side ?? Self.usualSize
        if parameter("f", "forcedefault") != "y" {
            let found = try respond(
                to: request,
                as: Rendition(size: size, fit: .square),
                with: { try store.image(withAddressDigest: digest) },
                fields: { _, _ in [.cacheControl: cacheControl] }
            )
            // An image that is held back is not told from an address without one.
            if case .response(let response) = found { return response }
        }
        switch fallback {
        case "404":
            var answer = AvatarResponse.problem(.notFound, "There is no image for this address.")
            answer.head.headerFields[.cacheControl] = cacheControl
            return answer
        case "blank":
            return drawing(Self.blank(size), cache: cacheControl, request)
        case "initials":
            let placeholder = AvatarPlaceholder(id: digest, name: Self.name(target.query))
            return drawing(placeholder.svg(side: size), cache: cacheControl, request)
        default:
            // `mp`, and the names of drawings that this server does not have. The id has the grey colour.
            return drawing(AvatarPlaceholder(id: "mm", name: nil).svg(side: size), cache: cacheControl, request)
        }
    }

    /// The name that gives the initials: always that of the request, never that of a contact. `initials` has the letters
    /// themselves, each of which is taken for a name.
    private static func name(_ query: [String: String]) -> String? {
        guard let initials = query["initials"], !initials.isEmpty else { return query["name"] }
        return initials.filter { !$0.isWhitespace }.prefix(2).map(String.init).joined(separator: " ")
    }

    /// A transparent image.
    private static func blank(_ side: Int) -> String {
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(side)\" height=\"\(side)\"/>\n"
    }

    private var cacheControl: String { "\(imageVisibility), \(Self.lifetime)" }
}
