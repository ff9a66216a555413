#if HTTPOrigin
import AvatarStore
import AvatarStoreTesting
import Testing

/// A sync of images that all have a host of their own.
@Suite(.timeLimit(.minutes(5)))
struct ManyHostsTests {
    @Test(.timeLimit(.minutes(5)))
    func aThousandHostsAndMoreGetOneConnectionEach() async throws {
        let count = 1_100
        try await StoreFixture.withStore({
            $0.http.resolver.ask = { _ in .addresses([IPAddress("127.0.0.1")].compactMap { $0 }) }
        }) { fixture in
            let contacts = (0..<count).map { number in
                fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 2_000), at: "/\(number).png")
                let url = fixture.origin.url("/\(number).png", host: "host\(number).example")
                return Contact(id: "\(number)", avatarURL: url)
            }

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.fetched == count)
            #expect(report.failed == 0)
            #expect(fixture.origin.connectionCount == count)
            // The origin records a thousand requests.
            #expect(Set(fixture.origin.requests.map { $0.headers["Host"] }).count == 1_000)
            // The client keeps at most 1,024 connections. The origin hears of the others a moment later.
            try await waitUntil { fixture.origin.openConnections <= 1_024 }
        }
    }
}
#endif
