import AvatarFrontEnds
import AvatarStore
import AvatarStoreTesting
import Foundation
import Observation
import Testing

#if canImport(SwiftUI)
import SwiftUI
#endif

/// The examples of the documentation, compiled as in another package and run. A test in `Tests/Documentation` compares them line by line.
/// Only the URLs differ: `"https://example.org/ada.png"` is the variable `ada` here.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct ExampleTests {
    private let face = SampleImage.png(seed: 1, byteCount: 3000)
    private let silhouette = Images.face(2)

    private struct Contact {
        var avatarURL: String
        var image: AvatarImage?
    }

    @Test func fallbacks() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let contact = Contact(avatarURL: fixture.origin.url("/missing.png"))

            let fallback = try await store.save(silhouette, named: "fallback")
            let avatar = RemoteAvatar(url: contact.avatarURL, from: store, fallback: fallback)

            await become { if case .image = avatar.state { true } else { false } }
        }
    }

    @Test func renditions() async throws {
        try await StoreFixture.withStore {
            $0.renditions = SampleMaker()
        } _: { fixture in
            let store = fixture.store
            let contact = Contact(avatarURL: fixture.serve(SampleImage.png(seed: 1, byteCount: 60_000), at: "/ada.png"))

            let options = FetchOptions(rendition: Rendition(size: 96, fit: .square))
            let small = RemoteAvatar(url: contact.avatarURL, from: store, options: options)

            await become { if case .image(let image) = small.state { image.rendition?.size == 96 } else { false } }
        }
    }

    @Test func fetchableImages() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.png")

            struct ContactWall: FetchableImage {
                let avatarStore: AvatarStore
            }

            let wall = ContactWall(avatarStore: store)
            let image = try await wall.fetchImage(from: ada)
            let file = try wall.localFileURL(for: ada)

            #expect(image.bytes == face && file != nil)

            let people = [Contact(avatarURL: ada), Contact(avatarURL: fixture.origin.url("/missing.png"))]
            var rows = people

            for await fetched in wall.fetchBatchImages(using: people.map(\.avatarURL)) {
                rows[fetched.index].image = fetched.image
            }

            #expect(rows[0].image?.bytes == face && rows[1].image == nil)

            let bytes = silhouette

            let mine = FetchableImageOptions(storeInCachesDirectory: false, customFileName: "me")
            try await wall.save(image: bytes, options: mine)
            let me = try await wall.fetchImage(from: nil, options: mine)
            try await wall.deleteImage(using: nil, options: mine)

            #expect(me.bytes == silhouette)
            #expect(try wall.localFileURL(for: nil, options: mine) == nil)
        }
    }

    @Test func cell() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.png")

            struct ContactCell: FetchableImage {
                let avatarStore: AvatarStore
            }
            let cell = ContactCell(avatarStore: store)
            let image = try await cell.fetchImage(from: ada)

            #expect(image.bytes == face)
        }
    }

    @Test func futureAvatars() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let json = Data(#"[{"name": "Ada", "avatar": "\#(fixture.serve(face, at: "/ada.png"))"}]"#.utf8)

            struct Person: Decodable {
                let name: String
                let avatar: FutureAvatar
            }

            let decoder = JSONDecoder()
            decoder.userInfo[.avatarStore] = store
            let people = try decoder.decode([Person].self, from: json)
            let image = try await people[0].avatar.image

            #expect(image.bytes == face)

            @MainActor final class Row {
                let target = AvatarTarget()
                var image: [UInt8]?

                func show(_ person: Person) throws {
                    try person.avatar.bind(to: target) { [weak self] content in self?.image = content.image?.bytes }
                }
            }

            let row = Row()
            try row.show(people[0])
            #expect(row.image == face)
        }
    }

    @Test func remoteAvatars() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.png")

            let avatar = RemoteAvatar(url: ada, from: store)
            let label = avatar.content {
                "Loading"
            } image: { image in
                "\(image.width) by \(image.height) pixels"
            } failure: { error in
                error.message
            }

            #expect(label == "Loading")
        }
    }

    #if canImport(SwiftUI)
    @ViewBuilder private func remoteAvatarView(of person: Contact, _ store: AvatarStore) -> some View {
        RemoteAvatarView(url: person.avatarURL, from: store) {
            ProgressView()
        } image: { image in
            Text("\(image.width) by \(image.height) pixels")
        } failure: { error in
            Text(error.message)
        }
    }
    #endif

    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    @Test func avatarLoaders() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.jpg")

            let loader = AvatarLoader(url: ada, from: store)
            loader.fetch()

            for await (progress, isLoading) in Observations({ (loader.progress, loader.isLoading) }) {
                print(progress?.completedBytes ?? 0, "of", progress?.totalBytes.map(String.init) ?? "?")
                if !isLoading { break }
            }

            #expect(loader.progress?.completedBytes == 3000 && loader.image?.bytes == face)
        }
    }

    @Test func avatarLoaderOfAContact() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let contact = Contact(avatarURL: fixture.serve(face, at: "/ada.png"))

            let loader = AvatarLoader(url: contact.avatarURL, from: store)
            loader.fetch()
            // loader.isLoading, loader.progress, loader.preview, loader.image, loader.error

            await become { loader.image != nil }
        }
    }

    /// A stand-in for `NWPathMonitor`.
    private struct Monitor {
        let currentPath = Path()

        struct Path {
            let isConstrained = true
        }
    }

    @Test func smallerImages() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let adaLarge = fixture.serve(face, at: "/ada-large.jpg")
            let adaSmall = fixture.serve(silhouette, at: "/ada-small.jpg")
            let monitor = Monitor()

            let loader = AvatarLoader(
                regularURL: adaLarge,
                lowDataURL: adaSmall,
                from: store,
                startsAtOnce: true,
                isConstrained: { monitor.currentPath.isConstrained }
            )

            await become { loader.image != nil }
            #expect(loader.image?.bytes == silhouette)
        }
    }

    @Test func prefetching() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let rows = (0..<3).map { Contact(avatarURL: fixture.serve(Images.face($0), at: "/\($0).png")) }
            let (comingRows, rowsThatScrolledAway) = (rows, rows.suffix(1))

            let prefetcher = AvatarPrefetcher(store: store)
            prefetcher.prefetch(comingRows.map(\.avatarURL))
            prefetcher.cancel(rowsThatScrolledAway.map(\.avatarURL))

            await prefetcher.waitUntilDone()
            let stored = try store.storedAvatar(for: rows[0].avatarURL)
            #expect(stored?.bytes == Images.face(0))
        }
    }
}
