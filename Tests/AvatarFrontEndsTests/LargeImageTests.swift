#if os(Linux)
import AvatarFrontEnds
import AvatarStore
import AvatarStoreTesting
import Foundation
import FoundationNetworking
import Testing

/// The memory that an image of 13 MB needs in each front end, compared with a plain download. Each is measured in a
/// separate process.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LargeImageTests {
    struct Path: Codable, Sendable {
        let name: String
        /// The allowed number of copies of the image in memory at the peak.
        let copies: Int
    }

    static let paths = [
        Path(name: "prefetch", copies: 0), Path(name: "FetchableImage", copies: 2),
        Path(name: "FutureAvatar", copies: 2),
        Path(name: "RemoteAvatar", copies: 2), Path(name: "AvatarLoader", copies: 2),
        Path(name: "URLSession", copies: 9),
    ]

    @Test(arguments: paths) func copiesInMemoryAreBounded(path: Path) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [path = path as Path] in
            try await Self.measure(path)
        }
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }

    private static let byteCount = 13_000_000

    private static func measure(_ path: Path) async throws {
        try await StoreFixture.withStore { fixture in
            let small = Images.face(1)
            // Generated while it is sent, because the origin is in the same process and must not add to the memory.
            let large = LoopbackOrigin.Body.generated(byteCount: byteCount, beginning: small)
            fixture.origin.setResponse(LoopbackOrigin.Response(body: large), for: "/large.png")
            try await fetch(fixture.serve(small, at: "/small.png"), by: path, in: fixture.store)
            let idle = try ProcessMemory.current()
            try ProcessMemory.resetPeak()
            try await fetch(fixture.origin.url("/large.png"), by: path, in: fixture.store)
            let growth = try ProcessMemory.peak() - idle
            print("13 MB by \(path.name): \(idle >> 20) MiB idle, \(growth >> 20) MiB more at the peak")
            precondition(growth < path.copies * byteCount + 8_000_000)
        }
    }

    private static func fetch(_ url: String, by path: Path, in store: AvatarStore) async throws {
        struct Wall: FetchableImage { let avatarStore: AvatarStore }
        switch path.name {
        case "prefetch":
            let prefetcher = AvatarPrefetcher(store: store)
            prefetcher.prefetch([url])
            await prefetcher.waitUntilDone()
        case "FetchableImage":
            _ = try await Wall(avatarStore: store).fetchImage(from: url)
        case "FutureAvatar":
            _ = try await FutureAvatar(url: url, from: store).image
        case "RemoteAvatar":
            await wait(url, store)
        case "AvatarLoader":
            await load(url, store)
        default:
            guard let url = URL(string: url) else { return }
            _ = try await URLSession.shared.data(from: url)
        }
    }

    @MainActor private static func wait(_ url: String, _ store: AvatarStore) async {
        let avatar = RemoteAvatar(url: url, from: store, memory: nil)
        await become { if case .image = avatar.state { true } else { false } }
    }

    @MainActor private static func load(_ url: String, _ store: AvatarStore) async {
        let loader = AvatarLoader(regularURL: url, from: store, memory: nil, startsAtOnce: true)
        await become { loader.image != nil }
    }
}
#endif
