import AvatarStore
import AvatarStoreTesting
import Testing

/// No response of a broken origin harms a stored image.
@Suite(.timeLimit(.minutes(5)))
struct BrokenOriginTests {
    private static let face = SampleImage.identicon(for: "ada")

    private static func raw(_ head: String, _ body: String = "") -> LoopbackOrigin.Response {
        .raw(Array((head.replacing("\n", with: "\r\n") + "\r\n" + body).utf8))
    }

    /// A coded body of a gigabyte, announced by its length.
    private static var bomb: LoopbackOrigin.Response {
        var response = LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000_000, beginning: [0x1F, 0x8B, 8]))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Type"] = "image/png"
        return response
    }

    private static var portal: LoopbackOrigin.Response {
        var response = LoopbackOrigin.Response(body: .text("<!DOCTYPE html><title>Please log in</title>"))
        response.headers["Content-Type"] = "text/html"
        return response
    }

    static let answers: [(String, LoopbackOrigin.Response, FailureKind)] = [
        ("header bomb", raw("HTTP/1.1 200 OK\n" + String(repeating: "X-A: b\n", count: 20_000)), .unreachable),
        ("two lengths", raw("HTTP/1.1 200 OK\nContent-Length: 4\nContent-Length: 5\n", "face"), .unreachable),
        ("length and chunks", raw("HTTP/1.1 200 OK\nContent-Length: 4\nTransfer-Encoding: chunked\n"), .unreachable),
        ("no HTTP", raw("220 mail.example ESMTP\n"), .unreachable),
        ("no answer", .closed, .unreachable),
        ("silence", .hang, .timeout),
        ("broken chunks", raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", "zz\r\n"), .truncated),
        (
            "dripping body",
            .image(face).behaving(.drip(byteCount: 1, interval: .milliseconds(50))), .timeout
        ),
        ("cut short", .image(face).behaving(.cutShort(after: 500)), .truncated),
        ("cut short without a length", raw("HTTP/1.1 200 OK\nETag: \"2\"\n", "\u{1}PNG"), .notImage),
        ("coded body beyond the limit", bomb, .tooLarge),
        ("captive portal", portal, .notImage),
        ("redirect to a login page", .redirect(to: "/portal"), .notImage),
        ("circle", .redirect(to: "/a.png"), .tooManyRedirects),
        ("redirect to a file", .redirect(to: "file:///etc/passwd"), .unsupportedURL),
        ("redirect to a multicast address", .redirect(to: "http://224.0.0.1/"), .forbiddenAddress),
        ("endless body", .image(Array(face.prefix(500))).endless, .tooLarge),
        ("length beyond the limit", raw("HTTP/1.1 200 OK\nContent-Length: 99999999999\n"), .tooLarge),
    ]

    @Test(arguments: answers)
    func badAnswerNeverReplacesTheGoodImage(
        name: String,
        answer: LoopbackOrigin.Response,
        expected: FailureKind
    ) async throws {
        try await StoreFixture.withStore({
            // Only a body that never ends should meet the limit, even on a busy machine.
            $0.timeout = expected == .timeout ? .seconds(1) : .seconds(20)
            $0.clock = ManualClock()
        }) { fixture in
            let url = fixture.serve(Self.face, at: "/a.png", etag: "\"1\"", cacheControl: "max-age=0")
            let stored = try await fixture.store.avatar(for: url)
            fixture.origin.setResponse(answer, for: "/a.png")
            fixture.origin.setResponse(Self.portal, for: "/portal")
            fixture.origin.resetCounts()

            let kept = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            #expect(kept.bytes == Self.face)
            #expect(kept.localFile == stored.localFile)
            #expect(kept.isStale)
            #expect(kept.failure == expected)
            #expect(fixture.origin.bytesSent < 60_000_000)
            let states = try fixture.store.statistics().states
            #expect(states[.failing] == 1)
        }
    }

    /// The status and the fields already decide when the body breaks off or never comes.
    @Test(arguments: [
        ("404 Not Found", FailureKind.gone, "Content-Length: 50\n"),
        ("429 Too Many Requests", .rateLimited, "Retry-After: 3600\nContent-Length: 50\n"),
        ("503 Service Unavailable", .serverError, "Retry-After: 3600\nContent-Length: 50\n"),
    ])
    func statusCountsWhateverBecomesOfItsBody(status: String, expected: FailureKind, fields: String) async throws {
        try await StoreFixture.withStore { fixture in
            for path in ["/a.png", "/b.png"] {
                fixture.origin.setResponse(Self.raw("HTTP/1.1 \(status)\n\(fields)", "cut"), for: path)
            }

            await #expect { try await fixture.store.avatar(for: fixture.origin.url("/a.png")) } throws: {
                ($0 as? AvatarStoreError)?.failure == expected
            }
            // Whether the host is paused.
            let count = fixture.origin.requestCount
            await #expect(throws: AvatarStoreError.self) {
                try await fixture.store.avatar(for: fixture.origin.url("/b.png"))
            }
            #expect((fixture.origin.requestCount > count) == (expected == .gone))
        }
    }
}

extension LoopbackOrigin.Response {
    /// The same beginning, followed by a gigabyte.
    fileprivate var endless: Self {
        var copy = self
        copy.body = .generated(byteCount: 1_000_000_000, beginning: SampleImage.identicon(for: "ada"))
        return copy
    }
}
