import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Responses other than a plain 200 that bring an image, as browsers accept them.
@Suite(.timeLimit(.minutes(5)))
struct AcceptedResponseTests {
    private let face = SampleImage.png(seed: 1, byteCount: 5000)

    // MARK: Status

    @Test(
        arguments: [
            (203, nil, nil), (299, nil, nil), (250, nil, nil), (206, nil, nil), (206, "bytes 0-4999/5000", nil),
            (206, "bytes 0-4999/5001", .unexpectedStatus), (206, "bytes 1-5000/5001", .unexpectedStatus),
            (206, "bytes 0-4999/*", .unexpectedStatus), (206, "nonsense", .unexpectedStatus),
            (201, nil, .unexpectedStatus), (202, nil, .unexpectedStatus), (226, nil, .unexpectedStatus),
        ] as [(Int, String?, FailureKind?)]
    )
    func statusThatMeansAnImage(status: Int, range: String?, failure: FailureKind?) async throws {
        try await StoreFixture.withStore { fixture in
            var response = LoopbackOrigin.Response(status: status, body: .bytes(face))
            response.headers["Content-Range"] = range
            response.headers["ETag"] = "\"1\""
            fixture.origin.setResponse(response, for: "/a.png")
            let url = fixture.origin.url("/a.png")

            if let failure {
                await #expect { try await fixture.store.avatar(for: url) } throws: {
                    ($0 as? AvatarStoreError)?.failure == failure
                }
            } else {
                let image = try await fixture.store.avatar(for: url)
                #expect(image.bytes == face)
                let stored = try fixture.store.storedAvatar(for: url)
                #expect(stored?.bytes == face)
            }
        }
    }

    /// A server that answers any `Range` with the whole image, as 206.
    @Test func wholeImageInAnswerToARangeReplacesTheBeginning() async throws {
        let face = SampleImage.png(seed: 1, byteCount: 600_000)
        try await StoreFixture.withStore { fixture in
            let url = fixture.origin.url("/a.png")
            let response = LoopbackOrigin.Response.image(face, etag: "\"1\"", cacheControl: "max-age=60")
            fixture.origin.setResponse(response.behaving(.cutShort(after: 300_000)), for: "/a.png")
            await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: url) }
            var whole = LoopbackOrigin.Response(status: 206, body: .bytes(face))
            whole.headers = ["ETag": "\"1\"", "Content-Range": "bytes 0-599999/600000"]
            fixture.origin.setResponse(whole, for: "/a.png")
            fixture.origin.resetCounts()

            let image = try await fixture.store.avatar(for: url)
            #expect(image.bytes == face)
            #expect(fixture.origin.requests.map { $0.headers["Range"] != nil } == [true])
        }
    }

    // MARK: Blanks after values

    @Test(arguments: ["no-store ", "no-store\t", " no-store \t"])
    func strictStoreKeepsNothingWhereABlankFollowsNoStore(value: String) async throws {
        try await StoreFixture.withStore({ $0.mode = .strict }) { fixture in
            let url = fixture.serve(face, at: "/a.png", etag: "\"1\"", cacheControl: value)

            let image = try await fixture.store.avatar(for: url)
            #expect(image.bytes == face)
            let stored = try fixture.store.storedAvatar(for: url)
            #expect(stored == nil)
            #expect(fixture.files(in: .caches).isEmpty)
        }
    }

    @Test func locationWithABlankLeadsToTheImage() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(face, at: "/plain")
            fixture.origin.setResponse(.redirect(to: "/plain "), for: "/a.png")

            let image = try await fixture.store.avatar(for: fixture.origin.url("/a.png"))
            #expect(image.bytes == face)
        }
    }

    // MARK: Cookies

    @Test func cookieThatARedirectSetsIsSentAndLeavesNoTrace() async throws {
        try await StoreFixture.withStore { fixture in
            var redirect = LoopbackOrigin.Response.redirect(to: "/face.png")
            redirect.headers["Set-Cookie"] = "session=s3cr3t-token; Path=/"
            fixture.origin.setResponse(redirect, for: "/a.png")
            let image = LoopbackOrigin.Response.image(face, etag: "\"1\"", cacheControl: "max-age=60")
            fixture.origin.setResponse(for: "/face.png") { request in
                var image = image
                image.headers.append("Set-Cookie", "late=s3cr3t-token")
                image.headers.append("Vary", "Cookie")
                return request.headers["Cookie"] == "session=s3cr3t-token" ? image : .status(403)
            }

            let received = try await fixture.store.avatar(for: fixture.origin.url("/a.png"))
            #expect(received.bytes == face)

            for case let path as String in FileManager.default.enumerator(atPath: fixture.directory) ?? .init() {
                let file = fixture.directory + "/" + path
                guard let bytes = FileManager.default.contents(atPath: file) else { continue }
                #expect(bytes.range(of: Data("s3cr3t".utf8)) == nil, "\(path)")
            }
        }
    }
}
