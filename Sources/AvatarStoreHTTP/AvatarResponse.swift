public import AvatarStore
public import HTTPTypes

/// The response to one request: a head, and a body in pieces.
///
/// A server sends the head and then each piece of the body, whatever the response is:
///
/// ```swift
/// for try await piece in response.body { try await send(piece) }
/// ```
public struct AvatarResponse: Sendable {
    /// The content after the head: a sequence of pieces, or what they are made from.
    public enum Body: Sendable {
        /// No content: the response to a HEAD request, or a status without content.
        case none
        /// All bytes of the content. Those of an image are at most 65,536.
        case bytes([UInt8])
        /// These bytes of an open file. Content-Length is their number.
        case file(OpenImage, Range<Int>)
        /// Change events without an end. There is no Content-Length.
        case events(ChangeEvents)
    }

    /// The status and the fields, with Date, and with Content-Length unless the body has no end or no content is allowed.
    public var head: HTTPResponse
    /// The content.
    public var body: Body

    /// A response with this head and body.
    public init(head: HTTPResponse, body: Body) {
        self.head = head
        self.body = body
    }

    /// A response with `bytes`, whose fields are those given, Content-Type and Content-Length.
    init(
        _ status: HTTPResponse.Status,
        _ mediaType: String,
        _ bytes: [UInt8],
        cache: String = "no-store",
        fields: HTTPFields = [:]
    ) {
        var fields = fields
        fields[.contentType] = mediaType
        fields[.contentLength] = "\(bytes.count)"
        fields[.cacheControl] = cache
        self.init(head: HTTPResponse(status: status, headerFields: fields), body: .bytes(bytes))
    }

    /// A problem in the form of RFC 9457, for programs.
    ///
    /// - Parameter detail: a sentence for a person. It must not tell a path of the server.
    /// - Parameter reason: a word for programs; `nil` for none.
    /// - Parameter next: the number from which a reader of the changes continues after it has looked at all contacts.
    static func problem(
        _ status: HTTPResponse.Status,
        _ detail: String,
        fields: HTTPFields = [:],
        reason: String? = nil,
        startOverFrom next: Int64? = nil
    ) -> AvatarResponse {
        let problem = Problem(
            title: status.reasonPhrase,
            status: status.code,
            detail: detail,
            reason: reason,
            startOver: next == nil ? nil : true,
            next: next
        )
        return AvatarResponse(status, "application/problem+json", JSONText.bytes(problem), fields: fields)
    }

    private struct Problem: Encodable {
        let title: String
        let status: Int
        let detail: String
        // Only of an image that is held back.
        let reason: String?
        // Only of `/changes`.
        let startOver: Bool?
        let next: Int64?
    }

    /// The same response without its content, as for HEAD (RFC 9110 section 9.3.2).
    var withoutContent: AvatarResponse { AvatarResponse(head: head, body: .none) }
}
