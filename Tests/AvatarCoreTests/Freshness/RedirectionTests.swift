import HTTPTypes
import Testing

@testable import AvatarCore

/// A response that redirects led to is fresh no longer than they hold (RFC 9111 section 4).
@Suite(.timeLimit(.minutes(5)))
struct RedirectionTests {
    private let now = Timestamp(milliseconds: 784_111_777_000)

    private func redirection(_ hops: [(Int, HTTPFields)]) -> Redirection {
        var redirection = Redirection(to: "https://cdn.example/2.png")
        for (status, fields) in hops { redirection.add(status: status, fields: fields, at: now) }
        return redirection
    }

    private func lifetime(_ hops: [(Int, HTTPFields)], _ mode: CachingMode) -> Int64 {
        var policy = FreshnessPolicy()
        policy.mode = mode
        let response = ResponseMetadata(
            status: 200,
            fields: [.cacheControl: "max-age=31536000, immutable"],
            requestTime: now,
            responseTime: now,
            redirection: redirection(hops)
        )
        return policy.assess(response).freshUntil.seconds(since: now)
    }

    static let cases: [(hops: [(Int, HTTPFields)], offlineFirst: Int64, strict: Int64)] = [
        // Temporary, and nothing said: not to be used again without asking (RFC 9110 section 15.4.3).
        ([(302, [:])], 86_400, 0),
        ([(307, [:])], 86_400, 0),
        ([(302, [.cacheControl: "max-age=60"])], 60, 60),
        ([(302, [.cacheControl: "max-age=60", .age: "50"])], 10, 10),
        ([(302, [.cacheControl: "no-store, max-age=60"])], 0, 0),
        ([(302, [.cacheControl: "no-cache"])], 0, 0),
        ([(302, [.expires: "Sun, 06 Nov 1994 08:59:37 GMT"])], 600, 600),
        ([(302, [.expires: "0"])], 0, 0),
        // Permanent (RFC 9110 sections 15.4.2 and 15.4.9).
        ([(301, [:])], 31_536_000, 31_536_000),
        ([(308, [:])], 31_536_000, 31_536_000),
        ([(301, [.cacheControl: "max-age=60"])], 60, 60),
        // The least counts.
        ([(301, [:]), (302, [.cacheControl: "max-age=60"]), (302, [:])], 60, 0),
        ([(302, [.cacheControl: "max-age=99999999"])], 31_536_000, 31_536_000),
    ]

    @Test(arguments: cases)
    func isFreshNoLongerThanTheRedirects(hops: [(Int, HTTPFields)], offlineFirst: Int64, strict: Int64) {
        #expect(lifetime(hops, .offlineFirst) == offlineFirst)
        #expect(lifetime(hops, .strict) == strict)
    }

    @Test(arguments: cases.map(\.hops))
    func isKeptAsText(hops: [(Int, HTTPFields)]) {
        let metadata = ResponseMetadata(
            status: 200,
            fields: [.cacheControl: "max-age=1", .vary: "Accept"],
            requestTime: now,
            responseTime: now,
            request: [.accept: "image/*"],
            redirection: redirection(hops)
        )

        let read = ResponseMetadata(
            etag: nil,
            lastModified: nil,
            encodedFields: metadata.encodedFields,
            requestTime: now,
            responseTime: now
        )

        #expect(read == metadata)
        #expect(read.redirection?.url == "https://cdn.example/2.png")
    }

    @Test func ignores304FromAnotherURL() {
        let stored = ResponseMetadata(
            status: 200,
            fields: [.eTag: "\"1\""],
            requestTime: now,
            responseTime: now,
            redirection: redirection([(302, [:])])
        )
        func updated(_ redirection: Redirection?) -> ResponseMetadata? {
            stored.updating(with: [.eTag: "\"1\""], requestTime: now, responseTime: now, redirection: redirection)
        }

        #expect(updated(nil) == nil)
        #expect(updated(Redirection(to: "https://cdn.example/3.png")) == nil)
        let later = redirection([(302, [.cacheControl: "max-age=5"])])
        #expect(updated(later)?.redirection == later)
    }
}
