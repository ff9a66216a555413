package import AvatarCore
package import AvatarProviders

/// The limits of a response head, which protect memory.
package enum ResponseHeadLimits {
    /// The maximum size of all fields together, in bytes: 64 KiB.
    package static let maximumBytes = 65_536
    /// The maximum number of fields: 256.
    package static let maximumFieldCount = 256
    /// The maximum number of interim responses (1xx, RFC 9110 section 15.2) before the final one: 100.
    package static let maximumInterimCount = 100
}

/// The reason why a request failed, in the words that both origin clients use.
package enum FailureWording {
    /// The end of a sentence that begins with the URL.
    package typealias Reason = (kind: FailureKind, words: String)

    // MARK: Before a response

    /// The client was shut down. This says nothing about the URL.
    package static let shutDown: Reason = (.offline, "the HTTP client was shut down")
    /// The connection ended before a response arrived.
    package static let noResponse: Reason =
        (.unreachable, "the origin closed the connection without a response")
    /// The origin sent nothing for too long before the head of the response.
    package static let silent: Reason = (.timeout, "the origin did not respond within the idle timeout")
    /// The connection did not come up in time.
    package static let connectTimeout: Reason = (.timeout, "no connection within the connect timeout")
    /// The connected peer has an address that the policy forbids.
    package static let forbiddenPeer: Reason = (.forbiddenAddress, "the host has an address that is not allowed")
    /// The process has as many open files as its limit allows. Neither the host nor the network is at fault.
    package static let tooManyOpenFiles: Reason =
        (
            .tooManyOpenFiles,
            "no connection could be opened, because this process has reached its limit on open files"
        )
    /// The response breaks the grammar of HTTP.
    package static let notHTTP: Reason = (.unreachable, "the response is not valid HTTP")
    /// The head exceeds `ResponseHeadLimits.maximumBytes`.
    package static let headerTooLarge: Reason =
        (
            .unreachable,
            "the header of the response is larger than \(ResponseHeadLimits.maximumBytes) bytes, the limit"
        )
    /// The head exceeds `ResponseHeadLimits.maximumFieldCount`.
    package static let tooManyFields: Reason =
        (
            .unreachable,
            "the header of the response has more than \(ResponseHeadLimits.maximumFieldCount) fields, the limit"
        )

    // MARK: Within a body

    /// The origin sent nothing for too long within the body.
    package static let silentInBody: Reason =
        (.timeout, "the origin sent no data within the idle timeout, and the body is incomplete")
    /// The framing of the body is invalid (RFC 9112 section 7).
    package static let invalidFraming: Reason = (.truncated, "the body breaks the framing rules of HTTP")
    /// The connection ended within the body.
    package static let incompleteBody: Reason =
        (.truncated, "the connection broke before the body was complete")

    // MARK: Errors

    /// The error for a request to `url`.
    package static func error(_ reason: Reason, at url: AvatarKey) -> OriginError {
        OriginError(reason.kind, "\(url.redacted): \(reason.words).")
    }

    /// The error for a proxy that refuses the credentials. The kind is `offline`, because a failure of the proxy says
    /// nothing about the URL.
    package static func proxyCredentials(_ proxy: ProxyServer, _ url: AvatarKey) -> OriginError {
        let wish = proxy.user == nil ? "requires a user and a password" : "refuses the user or the password"
        return error((.offline, "the proxy \(proxy) \(wish)"), at: url)
    }

    /// The error for a proxy that no connection reaches, for the reason `words`. The kind is `offline`: the URL itself was
    /// not tried.
    package static func unreachableProxy(_ proxy: ProxyServer, words: String, at url: AvatarKey) -> OriginError {
        error((.offline, "the proxy \(proxy) cannot be reached: \(words)"), at: url)
    }

    /// The error for a proxy that refuses to connect to the host of `url`.
    package static func refusedByProxy(_ proxy: ProxyServer, _ url: AvatarKey) -> OriginError {
        error((.unreachable, "the proxy \(proxy) did not connect to the host"), at: url)
    }

    /// The error for a proxy that does not connect to the host of `url` within the connect timeout.
    package static func slowProxy(_ proxy: ProxyServer, _ url: AvatarKey) -> OriginError {
        error((.timeout, "the proxy \(proxy) did not connect to the host in time"), at: url)
    }
}
