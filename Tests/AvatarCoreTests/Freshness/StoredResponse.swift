import AvatarCore
import HTTPTypes

/// Responses for the tables of freshness rules, all received at the same moment.
enum StoredResponse {
    /// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
    static let received = Timestamp(milliseconds: 784_111_777_000)

    /// A response with `lines` as header lines, `delay` seconds after its request.
    static func with(_ lines: [String], status: Int = 200, delay: Int64 = 0) -> ResponseMetadata {
        ResponseMetadata(
            status: status,
            fields: HTTPFields(lines: lines),
            requestTime: received.adding(seconds: -delay),
            responseTime: received
        )
    }

    /// A date line's value, `seconds` after the response was received.
    static func date(_ seconds: Int64) -> String {
        HTTPDate.format(received.adding(seconds: seconds))
    }
}

extension FreshnessPolicy {
    /// The default rules in the mode `strict`.
    static var strict: FreshnessPolicy {
        var policy = FreshnessPolicy()
        policy.mode = .strict
        return policy
    }
}
