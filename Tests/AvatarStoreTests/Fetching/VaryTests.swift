import AvatarCore
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// A response chosen by one of our request fields is reused only for requests with the same field (RFC 9111 section
/// 4.1).
@Suite(.timeLimit(.minutes(5)))
struct VaryTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    /// - Parameter userAgents: the fields of the store that fetches, and of the one that reads.
    @Test(arguments: [
        (["one", "one"], CachingMode.strict, 1, false),
        (["one", "two"], .strict, 2, false),
        (["one", "two"], .offlineFirst, 1, true),
    ])
    func anotherUserAgentIsAnotherRequest(
        _ userAgents: [String],
        _ mode: CachingMode,
        _ requests: Int,
        _ isServedOffline: Bool
    ) async throws {
        try await StoreFixture.withStore { fixture in
            var response = LoopbackOrigin.Response.image(face, etag: "\"1\"")
            response.headers["Vary"] = "User-Agent"
            response.headers["Cache-Control"] = "max-age=600"
            fixture.origin.setResponse(response, for: "/ada.png")
            let url = fixture.origin.url("/ada.png")
            for userAgent in userAgents {
                let store = try await fixture.openAgain {
                    $0.http.userAgent = userAgent
                    $0.mode = mode
                }
                let image = try await store.avatar(for: url, options: FetchOptions(policy: .revalidate))
                #expect(image.bytes == face)
                try await store.close()
            }

            #expect(fixture.origin.requestCount == requests)
            let store = try await fixture.openAgain {
                $0.http.userAgent = "three"
                $0.mode = mode
            }
            let offline = try? await store.avatar(for: url, options: FetchOptions(policy: .offline))
            #expect((offline != nil) == isServedOffline)
            try await store.close()
        }
    }

    /// - Parameter said: the mode in the options of the sync.
    @Test(
        arguments: [(.strict, nil, 2), (.offlineFirst, nil, 1), (.strict, .offlineFirst, 1)]
            as [(CachingMode, CachingMode?, Int)]
    )
    func syncsMindItInStrictOnly(_ mode: CachingMode, _ said: CachingMode?, _ requests: Int) async throws {
        try await StoreFixture.withStore { fixture in
            var response = LoopbackOrigin.Response.image(face, etag: "\"1\"")
            response.headers["Vary"] = "User-Agent"
            response.headers["Cache-Control"] = "max-age=600"
            fixture.origin.setResponse(response, for: "/ada.png")
            var options = SyncOptions()
            options.mode = said
            let contacts = [Contact(id: "ada", avatarURL: fixture.origin.url("/ada.png"))]
            for userAgent in ["one", "two"] {
                let store = try await fixture.openAgain {
                    $0.http.userAgent = userAgent
                    $0.mode = mode
                }
                if userAgent == "two" {
                    let list = AsyncStream<ContactRecord> { list in
                        for contact in contacts { list.yield(.contact(contact)) }
                        list.finish()
                    }
                    #expect(try await store.syncPreview(.records(list), options: options).toRevalidate == requests - 1)
                }
                _ = try await store.sync(contacts: contacts, options: options)
                try await store.close()
            }

            #expect(fixture.origin.requestCount == requests)
        }
    }
}
