import AvatarFrontEnds
import AvatarStore
import AvatarStoreTesting
import Testing

private struct Wall: FetchableImage {
    let avatarStore: AvatarStore
}

/// Requests of all front ends for the same image share one download.
@MainActor
@Suite(.timeLimit(.minutes(5)))
struct CoalescingTests {
    private let face = Images.face(1)

    @Test func aHundredRequestsFromAllFrontEndsShareOneDownload() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face).delayed(by: .milliseconds(300)), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let store = fixture.store
            let wall = Wall(avatarStore: store)
            let prefetcher = AvatarPrefetcher(store: store)
            prefetcher.prefetch([url])
            let remotes = (0..<20).map { _ in RemoteAvatar(url: url, from: store) }
            let loaders = (0..<20).map { _ in AvatarLoader(url: url, from: store, startsAtOnce: true) }
            let targets = (0..<20).map { _ in AvatarTarget() }
            var shown = 0
            for target in targets {
                try FutureAvatar(url: url, from: store).bind(to: target) { if case .image = $0 { shown += 1 } }
            }
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<20 {
                    group.addTask { try await wall.fetchImage(from: url).bytes }
                    group.addTask { try await store.avatar(for: url).bytes }
                }
                for try await bytes in group { #expect(bytes == face) }
            }
            await become { remotes.allSatisfy { if case .image = $0.state { true } else { false } } }
            await become { loaders.allSatisfy { $0.image?.bytes == face } }
            try await waitUntil { shown >= 20 }
            // An optimised program releases a target, which unbinds it, after its last use.
            withExtendedLifetime(targets) {}
            await prefetcher.waitUntilDone()
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func lastFrontEndToCancelEndsTheDownload() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let key = try AvatarKey(url: url)
            let store = fixture.store
            var remote: RemoteAvatar? = RemoteAvatar(url: url, from: store)
            let loader = AvatarLoader(url: url, from: store, startsAtOnce: true)
            let target = AvatarTarget()
            try FutureAvatar(url: url, from: store).bind(to: target) { _ in }
            let wall = Wall(avatarStore: store)
            let fetching = Task { try await wall.fetchImage(from: url) }
            let prefetcher = AvatarPrefetcher(store: store)
            prefetcher.prefetch([url])
            try await waitUntil { store.waiterCount(of: key) >= 5 }
            try await fixture.origin.waitForRequests()

            prefetcher.cancelAll()
            fetching.cancel()
            loader.cancel()
            target.unbind()
            try await waitUntil { store.waiterCount(of: key) <= 1 }
            #expect(fixture.origin.openConnections == 1 && remote != nil)
            remote = nil

            try await fixture.origin.waitForNoConnection()
            #expect(fixture.origin.requestCount == 1)
        }
    }
}
