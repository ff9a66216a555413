import AvatarStore
import HTTPTypes

/// The paths of contacts.
extension AvatarResponder {
    /// The path of a contact's image.
    ///
    /// - Parameter parameter: a parameter of the query, such as `size=96`; `nil` for none.
    static func contactImagePath(_ contact: String, _ parameter: String? = nil) -> String {
        if isDotSegment(contact) { return "/contacts/?picture=\(contact)" + (parameter.map { "&\($0)" } ?? "") }
        return "/contacts/\(RequestTarget.encoded(contact))/picture" + (parameter.map { "?\($0)" } ?? "")
    }

    /// The path of the page about a contact.
    static func detailPath(_ contact: String) -> String {
        isDotSegment(contact) ? "/contacts/?id=\(contact)" : "/contacts/\(RequestTarget.encoded(contact))"
    }

    /// `GET /contacts/?id=ID` and `/contacts/?picture=ID`.
    func contact(namedIn target: RequestTarget, _ request: HTTPRequest) throws -> AvatarResponse {
        if let id = target.query["picture"] { return try image(ofContact: id, target, request) }
        return try page(ofContact: target.query["id"] ?? "", request)
    }

    /// Whether browsers remove the id from a path, even if it is percent-encoded (URL Standard, path state).
    private static func isDotSegment(_ id: String) -> Bool { id == "." || id == ".." }
}
