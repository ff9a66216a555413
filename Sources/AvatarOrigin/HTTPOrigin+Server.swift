import AvatarCore
package import AvatarProviders
import CAvatarCurl

extension HTTPOrigin {
    /// Whether this libcurl can prove a user by Negotiate.
    package static var hasNegotiate: Bool { avatar_curl_has_negotiate() }

    /// The version of libcurl as 0xXXYYZZ; 0 without a libcurl that can be loaded.
    package static var libraryVersion: UInt32 { avatar_curl_version() }

    /// Sends `request`, and returns its response with the whole body.
    ///
    /// - Throws: as `send(_:receive:)`.
    package func exchange(_ request: ServerRequest) async throws -> ServerRequest.Response {
        try await send(request) { head, next in
            let limit = request.limit(status: head.status)
            var body: [UInt8] = []
            while body.count <= limit, let chunk = try await next() { body += chunk }
            let isTooLarge = body.count > limit
            return ServerRequest.Response(
                head: head,
                body: isTooLarge ? Array(body.prefix(limit)) : body,
                isTooLarge: isTooLarge
            )
        }
    }

    /// Sends `request`, and hands its response to `receive`, which reads the body chunk by chunk. The rest of it is dropped.
    ///
    /// - Throws: `ServerRequest.Failure` without a complete response; `OriginError` if the host is refused or has no known address,
    ///   or nothing is received for too long; `CancellationError`; an error of `receive`.
    package func send<Result>(
        _ request: ServerRequest,
        receive: (_ head: OriginHead, _ next: () async throws -> [UInt8]?) async throws -> Result
    ) async throws -> Result {
        let transfer = try await transfer(request)
        let answer = try await transfer.answer()
        var whole = answer.body
        let isStreamed = whole == nil
        defer { if isStreamed { transfer.release() } }
        return try await receive(answer.head) {
            if isStreamed { return try await transfer.next() }
            defer { whole = nil }
            return whole?.isEmpty == false ? whole : nil
        }
    }
}

extension ServerRequest.Failure {
    init(_ failure: TransferFailure) {
        end =
            switch Int(failure.state.refusal) {
            case AVATAR_NOT_HTTP: AVATAR_END_GRAMMAR
            case AVATAR_FORBIDDEN: AVATAR_END_NO_CONNECTION
            default: failure.kind
            }
        verifyResult = failure.end.verify_result
        error = failure.error
    }
}
