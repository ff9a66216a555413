public import AvatarStore
public import HTTPTypes

/// The answer to one request: a head, and a body that a server sends in its own way.
public struct AvatarResponse: Sendable {
    /// The content after the head.
    public enum Body: Sendable {
        /// No content: the answer to a HEAD request, or a status without content.
        case none
        /// Bytes in memory, at most 64 KiB of a picture.
        case bytes([UInt8])
        /// A part of an open file, to be read and sent piece by piece.
        case file(OpenPicture, Range<Int>)
        /// Change events without an end. A server must stop reading them when its client is gone or does not read.
        case events(ChangeEvents)
    }

    /// The status and the fields, with Date, and with Content-Length unless the body is endless.
    public var head: HTTPResponse
    /// The content.
    public var body: Body

    /// An answer with this head and body.
    public init(head: HTTPResponse, body: Body) {
        self.head = head
        self.body = body
    }

    /// An answer with `bytes`, whose fields are those given, Content-Type and Content-Length.
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
    static func problem(
        _ status: HTTPResponse.Status,
        _ detail: String,
        fields: HTTPFields = [:]
    ) -> AvatarResponse {
        let problem = Problem(title: status.reasonPhrase, status: status.code, detail: detail)
        return AvatarResponse(status, "application/problem+json", JSONText.bytes(problem), fields: fields)
    }

    private struct Problem: Encodable {
        let title: String
        let status: Int
        let detail: String
    }

    /// The same answer without its content, as for HEAD (RFC 9110 section 9.3.2).
    var withoutContent: AvatarResponse { AvatarResponse(head: head, body: .none) }
}
