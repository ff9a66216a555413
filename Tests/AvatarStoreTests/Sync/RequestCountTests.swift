import AvatarStore
import AvatarStoreTesting
import Testing

/// Every HTTP request is counted, even those that fail.
@Suite(.timeLimit(.minutes(5)))
struct RequestCountTests {
    @Test func redirectsAndFailuresCount() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            fixture.serve(SampleImage.gif(seed: 1), at: "/b.png")
            fixture.origin.setResponse(.redirect(to: "/circle.png"), for: "/circle.png")
            fixture.origin.setResponse(.hang, for: "/hang.png")
            let paths = ["/a.png", "/circle.png", "/hang.png"]
            var options = SyncOptions()
            // Long enough for the redirects on a busy machine.
            options.timeout = .seconds(2)

            let report = try await fixture.store.sync(
                contacts: paths.map { Contact(id: $0, avatarURL: fixture.origin.url($0)) },
                options: options
            )

            #expect(report.requests == fixture.origin.requestCount)
            #expect(report.requests == 4)
        }
    }
}
