import AvatarFrontEnds
import AvatarStore
import AvatarStoreTesting
import Testing

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct RemoteAvatarTests {
    private let face = Images.face(1)
    private let other = Images.face(2)

    private func name(_ avatar: RemoteAvatar) -> String {
        avatar.content(loading: { "loading" }, image: { "image \($0.bytes.count)" }, failure: { "failure \($0.code)" })
    }

    private func bytes(_ avatar: RemoteAvatar) -> [UInt8]? {
        avatar.content(loading: { nil }, image: { $0.bytes }, failure: { _ in nil })
    }

    @Test func loadsTheImage() async throws {
        try await StoreFixture.withStore { fixture in
            let avatar = RemoteAvatar(url: fixture.serve(face, at: "/a.png"), from: fixture.store, memory: nil)
            #expect(name(avatar) == "loading")
            await become { name(avatar) != "loading" }
            #expect(bytes(avatar) == face)
        }
    }

    @Test func loadingWithoutAURL() async throws {
        try await StoreFixture.withStore { fixture in
            let avatar = RemoteAvatar(url: nil, from: fixture.store)
            #expect(name(avatar) == "loading")
            avatar.url = fixture.serve(face, at: "/a.png")
            await become { bytes(avatar) == face }
            avatar.url = nil
            #expect(name(avatar) == "loading")
        }
    }

    @Test func failureIsTheStoresError_andCanBeRetried() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.status(503), for: "/a.png")
            let avatar = RemoteAvatar(url: fixture.origin.url("/a.png"), from: fixture.store)
            await become { name(avatar) != "loading" }
            guard case .failure(let error) = avatar.state else {
                Issue.record("it failed")
                return
            }
            #expect(error.failure == .serverError)

            fixture.serve(face, at: "/a.png")
            avatar.retry()
            #expect(name(avatar) == "loading")
            await become { bytes(avatar) == face }
            avatar.url = "not a URL"
            #expect(name(avatar) == "failure unsupportedURL")
        }
    }

    @Test func fallbackIsShownInsteadOfAFailure() async throws {
        try await StoreFixture.withStore { fixture in
            let silhouette = try await fixture.store.save(other, named: "silhouette")
            let missing = fixture.origin.url("/missing.png")
            let avatar = RemoteAvatar(url: missing, from: fixture.store, fallback: silhouette)
            await become { name(avatar) != "loading" }
            #expect(bytes(avatar) == other)
        }
    }

    @Test func storedImageIsLoadedAtOnce_fromTheSharedMemory() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let key = try AvatarKey(url: url)
            let first = RemoteAvatar(url: url, from: fixture.store)
            await become { bytes(first) == face }
            #expect(MemoryCache.shared.image(for: key) != nil)

            #expect(bytes(RemoteAvatar(url: url, from: fixture.store)) == face)
            MemoryCache.shared.remove(key)
            #expect(bytes(RemoteAvatar(url: url, from: fixture.store)) == face, "this time from the disk")
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func settingAnotherURLCancelsTheOldFetch() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let avatar = RemoteAvatar(url: fixture.origin.url("/a.png"), from: fixture.store)
            try await fixture.origin.waitForRequests()
            #expect(fixture.origin.openConnections == 1)
            avatar.url = nil
            try await fixture.origin.waitForNoConnection()
        }
    }

    @Test func releasingTheAvatarCancelsTheFetch() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            var avatar: RemoteAvatar? = RemoteAvatar(url: fixture.origin.url("/a.png"), from: fixture.store)
            weak let weakAvatar = avatar
            try await fixture.origin.waitForRequests()
            avatar = nil
            #expect(weakAvatar == nil)
            try await fixture.origin.waitForNoConnection()
        }
    }

    @Test(arguments: 0..<4) func lateResponsesAreNeverShown(seed: Int) async throws {
        try await StoreFixture.withStore { fixture in
            // The earlier the request, the later the response.
            let urls = (0..<6).map { number in
                let delay = Duration.milliseconds(40 * (6 - number) + 10 * seed)
                let path = "/\(number).png"
                fixture.origin.setResponse(.image(Images.face(number)).delayed(by: delay), for: path)
                return fixture.origin.url(path)
            }
            let avatar = RemoteAvatar(url: urls[0], from: fixture.store, memory: nil)
            // Other readers wait for the same images, so that no fetch is cancelled.
            let others = urls.map { url in Task { try await fixture.store.avatar(for: url).bytes } }
            for (number, url) in urls.enumerated() {
                avatar.url = url
                try await fixture.origin.waitForRequests()
                if let bytes = bytes(avatar) { #expect(bytes == Images.face(number)) }
            }
            // The responses arrive from the last to the first.
            for other in others.reversed() {
                _ = try await other.value
                if let bytes = bytes(avatar) { #expect(bytes == Images.face(5)) }
            }
            await become { bytes(avatar) != nil }
            #expect(bytes(avatar) == Images.face(5))
            // And back: the response to the first fetch of this image is shown.
            avatar.url = urls[2]
            #expect(bytes(avatar) == Images.face(2))
        }
    }
}
