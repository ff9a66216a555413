import AvatarStore
import AvatarStoreTesting
import Testing

/// URLs whose paths hold percent-encoded bytes that are not UTF-8: each names its own image.
@Suite(.timeLimit(.minutes(5)))
struct EncodedPathTests {
    /// Latin-1, GBK and Shift-JIS.
    private static let paths = ["/J%F6rg.jpg", "/%D5%C5%C8%FD.jpg", "/%8E%A5%93%F1.jpg", "/J%F6rg.jpg?size=%FF"]

    @Test(arguments: [nil, "http", "relative"] as [String?])
    func eachURLGetsItsOwnFace(redirect: String?) async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(SampleImage.identicon(for: "nobody"), at: "/")
            for path in Self.paths {
                fixture.serve(SampleImage.identicon(for: path), at: path)
            }
            let urls = Self.paths.enumerated().map { number, path in
                guard let redirect else { return fixture.origin.url(path) }
                let location = redirect == "http" ? fixture.origin.url(path) : String(path.dropFirst())
                fixture.origin.setResponse(.redirect(to: location), for: "/person-\(number)")
                return fixture.origin.url("/person-\(number)")
            }

            let report = try await fixture.store.sync(
                contacts: urls.enumerated().map { Contact(id: "\($0)", avatarURL: $1) }
            )

            #expect(report.fetched == urls.count)
            for (url, path) in zip(urls, Self.paths) {
                #expect(try fixture.store.storedAvatar(for: url)?.bytes == SampleImage.identicon(for: path))
            }
            #expect(!fixture.origin.requests.contains { $0.path == "/" })
        }
    }
}
