import AvatarProviders
import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import HTTPTypes
import Synchronization
import Testing

/// `?size=`, `?format=` and `?square=`: renditions, which the first request makes.
@Suite(.timeLimit(.minutes(5))) struct RenditionRouteTests {
    private let face = SampleImage.png(seed: 1, byteCount: 40_000)
    private let other = SampleImage.png(seed: 2, byteCount: 30_000)

    /// Runs `body` with a store in which Ada has the image `face`.
    private func withServer(
        _ maker: CountingMaker?,
        _ body: (StoreFixture, AvatarResponder) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore {
            $0.renditions = maker
        } _: { fixture in
            let url = fixture.serve(face, at: "/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", name: "Ada", avatarURL: url)])
            try await body(fixture, AvatarResponder(store: fixture.store))
        }
    }

    private func request(_ path: String, _ fields: HTTPFields = [:], method: HTTPRequest.Method = .get) -> HTTPRequest {
        HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
    }

    @Test func firstRequestMakesTheRendition_andLaterOnesFindIt() async throws {
        let maker = CountingMaker()
        try await withServer(maker) { fixture, responder in
            let path = "/contacts/ada/picture?size=40&format=png"
            #expect(responder.respondAtOnce(to: request(path)) == nil)

            let first = Answer(await responder.respond(to: request(path)))
            let second = Answer(try #require(responder.respondAtOnce(to: request(path))))

            #expect(first.status == 200 && first.bytes == CountingMaker.bytes(48) && second.bytes == first.bytes)
            #expect(maker.count == 1)
            let original = try #require(try fixture.store.image(of: "ada"))
            #expect(first.fields[.contentLocation] == "/images/\(original.sha256).png?size=48&format=png")
            let tag = try #require(first.fields[.eTag])
            #expect(tag != "\"\(original.sha256)\"" && second.fields[.eTag] == tag)
            let third = try #require(responder.respondAtOnce(to: request(path, [.ifNoneMatch: tag])))
            #expect(third.head.status == .notModified)
            let head = Answer(try #require(responder.respondAtOnce(to: request(path, method: .head))))
            #expect(head.bytes.isEmpty && head.fields[.contentLength] == "\(first.bytes.count)")
        }
    }

    @Test func imageByDigestHasRenditionsCachedForAYear() async throws {
        try await withServer(CountingMaker()) { fixture, responder in
            let digest = try #require(try fixture.store.image(of: "ada")?.sha256)

            let answer = Answer(await responder.respond(to: request("/images/\(digest).png?size=96")))

            #expect(answer.bytes == CountingMaker.bytes(96))
            #expect(answer.fields[.cacheControl] == "public, max-age=31536000, immutable")
            #expect(Answer(await responder.respond(to: request("/images/\(digest).png"))).bytes == face)
        }
    }

    /// Without a size, the path has the largest one, and the image at most the original's.
    @Test(arguments: [("size=40&square=1", 48, 48), ("square=true", 512, 128)])
    func squareIsARenditionOfItsOwn(query: String, named: Int, size: Int) async throws {
        try await withServer(CountingMaker()) { fixture, responder in
            let digest = try #require(try fixture.store.image(of: "ada")?.sha256)

            let square = Answer(await responder.respond(to: request("/contacts/ada/picture?\(query)")))

            #expect(square.bytes == CountingMaker.bytes(size, .square))
            let location = "/images/\(digest).png?size=\(named)&square=1"
            #expect(square.fields[.contentLocation] == location)
            #expect(Answer(await responder.respond(to: request(location))).bytes == square.bytes)
            let whole = Answer(await responder.respond(to: request("/contacts/ada/picture?size=\(size)&square=0")))
            #expect(whole.bytes == CountingMaker.bytes(size))
        }
    }

    @Test func replacedImageHasANewRendition() async throws {
        let maker = CountingMaker()
        try await withServer(maker) { fixture, responder in
            let path = "/contacts/ada/picture?size=64"
            let first = Answer(await responder.respond(to: request(path)))
            let digest = try #require(try fixture.store.image(of: "ada")?.sha256)
            let url = fixture.serve(other, at: "/ada.png")
            _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))

            let second = Answer(await responder.respond(to: request(path)))

            #expect(first.status == 200 && second.status == 200 && maker.count == 2)
            #expect(first.fields[.contentLocation] != second.fields[.contentLocation])
            #expect(Answer(await responder.respond(to: request("/images/\(digest).png?size=64"))).status == 404)
        }
    }

    @Test func originalOfAnUndecodableImageIsSent() async throws {
        let maker = CountingMaker(fails: true)
        try await withServer(maker) { fixture, responder in
            let digest = try #require(try fixture.store.image(of: "ada")?.sha256)

            let first = Answer(await responder.respond(to: request("/contacts/ada/picture?size=64")))
            let image = Answer(await responder.respond(to: request("/images/\(digest).png?size=64")))

            #expect(first.bytes == face && image.bytes == face)
            #expect(image.fields[.cacheControl] == "public, max-age=300")
            #expect(maker.count == 1)
        }
    }

    @Test func storeWithoutDecoderSendsTheOriginalAtOnce() async throws {
        try await withServer(nil) { _, responder in
            let response = try #require(responder.respondAtOnce(to: request("/contacts/ada/picture?size=64")))
            #expect(Answer(response).bytes == face)
        }
    }

    @Test(arguments: [
        "size=0", "size=4097", "size=x", "size=", "format=gif", "format=", "size=32&format=JPEG", "square=2", "square=",
    ])
    func invalidParameterIsRefused(query: String) async throws {
        try await withServer(CountingMaker()) { _, responder in
            let answer = Answer(await responder.respond(to: request("/contacts/ada/picture?\(query)")))
            #expect(answer.status == 400)
        }
    }
}

/// Makes PNG files whose length depends on the size and the shape.
private final class CountingMaker: RenditionMaker {
    var version: Int { 1 }
    var count: Int { made.withLock { $0 } }
    private let made = Mutex(0)
    private let fails: Bool

    init(fails: Bool = false) {
        self.fails = fails
    }

    static func bytes(_ size: Int, _ fit: Rendition.Fit = .inside) -> [UInt8] {
        SampleImage.png(seed: UInt64(size), byteCount: (fit == .square ? 1500 : 500) + size)
    }

    func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition {
        made.withLock { $0 += 1 }
        if fails { throw RenditionError.cannotDecode("It is not decoded.") }
        return MadeRendition(
            bytes: Self.bytes(rendition.size, rendition.fit),
            mediaType: "image/png",
            width: rendition.size,
            height: rendition.size,
            thumbHash: [1, 2, 3, 4, 5]
        )
    }
}
