import AvatarFrontEnds
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// The examples of the documentation, compiled and run: only their URLs are others.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct DocumentationTests {
    private let face = SampleImage.png(seed: 1, byteCount: 3000)

    private struct ContactWall: FetchableImage {
        let avatarStore: AvatarStore
    }

    @Test func fetchableImages() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.png")

            let wall = ContactWall(avatarStore: store)
            let image = try await wall.fetchImage(from: ada)
            let file = try wall.localFileURL(for: ada)
            #expect(image.bytes == face && file != nil)

            var rows: [AvatarImage?] = [nil, nil]
            for await fetched in wall.fetchBatchImages(using: [ada, nil]) {
                rows[fetched.index] = fetched.image
            }
            #expect(rows[0]?.bytes == face && rows[1] == nil)

            let mine = FetchableImageOptions(storeInCachesDirectory: false, customFileName: "me")
            try await wall.save(image: face, options: mine)
            let me = try await wall.fetchImage(from: nil, options: mine)
            #expect(me.bytes == face)
            try await wall.deleteImage(using: nil, options: mine)
            #expect(try wall.localFileURL(for: nil, options: mine) == nil)
        }
    }

    private struct Person: Decodable {
        let name: String
        let avatar: FutureAvatar
    }

    @MainActor private final class Row {
        let target = AvatarTarget()
        var picture: [UInt8]?

        func show(_ person: Person) throws {
            try person.avatar.bind(to: target) { [weak self] content in self?.picture = content.image?.bytes }
        }
    }

    @Test func futureAvatars() async throws {
        try await StoreFixture.withStore { fixture in
            let json = Data(#"[{"name": "Ada", "avatar": "\#(fixture.serve(face, at: "/ada.png"))"}]"#.utf8)

            let decoder = JSONDecoder()
            decoder.userInfo[.avatarStore] = fixture.store
            let people = try decoder.decode([Person].self, from: json)
            let image = try await people[0].avatar.image
            #expect(image.bytes == face)

            let row = Row()
            try row.show(people[0])
            #expect(row.picture == face)
        }
    }

    @Test func remoteAvatars() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let nobody = try await store.save(Pictures.face(2), named: "nobody")
            let avatar = RemoteAvatar(url: fixture.origin.url("/missing.png"), from: store, fallback: nobody)
            @MainActor func label() -> String {
                avatar.content {
                    "Loading"
                } image: { image in
                    "\(image.width) by \(image.height) pixels"
                } failure: { error in
                    error.message
                }
            }
            #expect(label() == "Loading")
            await become { label() != "Loading" }
            #expect(label().hasSuffix("pixels"))
        }
    }

    @Test func avatarLoaders() async throws {
        try await StoreFixture.withStore { fixture in
            let loader = AvatarLoader(url: fixture.serve(face, at: "/ada.png"), from: fixture.store)
            loader.fetch()
            await become { !loader.isLoading }
            #expect(loader.progress?.completedBytes == 3000 && loader.image?.bytes == face)
        }
    }

    @Test func prefetching() async throws {
        try await StoreFixture.withStore { fixture in
            let urls = (0..<3).map { fixture.serve(Pictures.face($0), at: "/\($0).png") }
            let prefetcher = AvatarPrefetcher(store: fixture.store)
            prefetcher.prefetch(urls)
            prefetcher.cancel([urls[2]])
            await prefetcher.waitUntilDone()
            let stored = try fixture.store.storedAvatar(for: urls[0])
            #expect(stored?.bytes == Pictures.face(0))
        }
    }

    @Test(arguments: ["FetchableImages", "FutureAvatars", "RemoteAvatars", "AvatarLoaders", "Prefetching"])
    func eachFaceHasAnArticleWithAnExample(name: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "Sources/AvatarFrontEnds/AvatarFrontEnds.docc")
        let article = try String(contentsOf: folder.appending(path: name + ".md"), encoding: .utf8)
        #expect(article.contains("```swift"))
        let overview = try String(contentsOf: folder.appending(path: "AvatarFrontEnds.md"), encoding: .utf8)
        #expect(overview.contains("<doc:\(name)>"))
    }
}
