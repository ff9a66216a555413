import AvatarStore
import AvatarStoreTesting
import Testing

/// The last good image stays, whatever the origin responds.
@Suite(.timeLimit(.minutes(5)))
struct LastGoodImageTests {
    private static let face = SampleImage.png(seed: 1, byteCount: 4000)

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: LoopbackOrigin.Response
        let kind: FailureKind

        init(_ name: String, _ kind: FailureKind, _ response: LoopbackOrigin.Response) {
            testDescription = name
            self.kind = kind
            self.response = response
        }
    }

    private static let html = LoopbackOrigin.Response(
        headers: ["Content-Type": "image/png"],
        body: .text("<!doctype html><title>Sign in</title>")
    )
    private static let cut = Array(face.dropLast(20))

    static let cases: [Case] = [
        Case("404", .gone, .status(404)),
        Case("410", .gone, .status(410)),
        Case("401", .refused, .status(401)),
        Case("403", .refused, .status(403)),
        Case("429", .rateLimited, .status(429)),
        Case("500", .serverError, .status(500)),
        Case("503", .serverError, .status(503)),
        Case("418", .unexpectedStatus, .status(418)),
        Case("204", .unexpectedStatus, .status(204)),
        Case("HTML as image/png", .notImage, html),
        Case("empty body", .notImage, LoopbackOrigin.Response()),
        Case("truncated image, lengths agree", .truncated, .image(cut, etag: nil)),
        Case("connection cut", .truncated, .image(face, etag: nil).behaving(.cutShort(after: 1000))),
        Case("less than announced", .truncated, .image(face, etag: nil).behaving(.announcing(contentLength: 9000))),
        Case("closed without answer", .unreachable, .closed),
        Case("circle of redirects", .tooManyRedirects, .redirect(to: "/ada.png")),
        Case("redirect to another scheme", .unsupportedURL, .redirect(to: "ftp://example.org/a.png")),
        Case("not HTTP", .unreachable, .raw(Array("SSH-2.0-OpenSSH\r\n\r\n".utf8))),
    ]

    @Test(arguments: cases)
    func failureKeepsTheImage(_ failing: Case) async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(Self.face, at: "/ada.png", etag: "\"1\"")
            _ = try await fixture.store.avatar(for: url)
            fixture.origin.setResponse(failing.response, for: "/ada.png")

            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            #expect(image.bytes == Self.face)
            #expect(image.isStale)
            #expect(image.failure == failing.kind)
            let details = try #require(try fixture.store.details(for: image.key))
            #expect(details.failure == failing.kind)
            #expect(details.overview.state == (failing.kind == .gone ? .gone : .failing))
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: cases)
    func failureOfAnImageThatIsNotStoredIsAnError(_ failing: Case) async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(failing.response, for: "/ada.png")
            let url = fixture.origin.url("/ada.png?token=secret")

            await #expect { try await fixture.store.avatar(for: url) } throws: { error in
                guard let error = error as? AvatarStoreError else { return false }
                return error.failure == failing.kind && !error.message.contains("secret")
            }
            #expect(fixture.files(in: .caches).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test func stoppedOriginKeepsTheImage() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(Self.face, at: "/ada.png")
            _ = try await fixture.store.avatar(for: url)
            try await fixture.origin.stop()

            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            #expect(image.bytes == Self.face)
            #expect(image.failure == .unreachable)
        }
    }

    @Test func hangingOriginMeetsTheDeadline() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/ada.png")
            var options = FetchOptions()
            options.timeout = .milliseconds(200)

            await #expect {
                try await fixture.store.avatar(for: fixture.origin.url("/ada.png"), options: options)
            } throws: {
                ($0 as? AvatarStoreError)?.failure == .timeout
            }
        }
    }

    @Test func drippingBodyMeetsTheDeadline() async throws {
        try await StoreFixture.withStore { fixture in
            let drip = LoopbackOrigin.Behaviour.drip(byteCount: 10, interval: .milliseconds(20))
            fixture.origin.setResponse(.image(Self.face, etag: nil).behaving(drip), for: "/ada.png")
            var options = FetchOptions()
            options.timeout = .milliseconds(300)

            await #expect {
                try await fixture.store.avatar(for: fixture.origin.url("/ada.png"), options: options)
            } throws: {
                ($0 as? AvatarStoreError)?.failure == .timeout
            }
            let statistics = try fixture.store.statistics()
            #expect(statistics.stagingBytes == 0)
        }
    }

    @Test func hugeBodyIsRefusedWithoutBeingReadToTheEnd() async throws {
        try await StoreFixture.withStore { fixture in
            let body = LoopbackOrigin.Body.generated(byteCount: 500_000_000, beginning: Array(Self.face.prefix(1000)))
            let response = LoopbackOrigin.Response(body: body, behaviour: .chunked)
            fixture.origin.setResponse(response, for: "/huge.png")
            try await fixture.store.set(.maximumImageBytes, to: 1_000_000)

            await #expect { try await fixture.store.avatar(for: fixture.origin.url("/huge.png")) } throws: {
                ($0 as? AvatarStoreError)?.failure == .tooLarge
            }
            #expect(fixture.origin.bytesSent < 50_000_000)
        }
    }

    @Test func imageOfTooManyPixelsIsRefused() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(Self.face, at: "/ada.png")
            try await fixture.store.set(.maximumPixels, to: 10)

            await #expect { try await fixture.store.avatar(for: url) } throws: {
                ($0 as? AvatarStoreError)?.failure == .tooManyPixels
            }
        }
    }

    @Test func privateAddressIsRefusedByDefault_beforeAByteOfHTTP() async throws {
        try await StoreFixture.withStore({ $0.http.allowsPrivateNetworks = false }) { fixture in
            let url = fixture.serve(Self.face, at: "/ada.png")

            await #expect { try await fixture.store.avatar(for: url) } throws: {
                ($0 as? AvatarStoreError)?.failure == .forbiddenAddress
            }
            #expect(fixture.origin.requestCount == 0)
        }
    }
}
