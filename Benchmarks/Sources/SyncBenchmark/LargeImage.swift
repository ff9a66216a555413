import AvatarFrontEnds
import AvatarPublisher
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

/// One image through one front end, in a process of its own.
enum LargeImage {
    /// Fetches a small image to warm up, and then a large one. Prints the memory of the process before the large one and at
    /// its peak, in bytes.
    static func run(way: String, small: String, large: String, directory: String) async throws {
        #if os(Linux)
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.http.allowsPrivateNetworks = true
        let store = try await AvatarStore.open(configuration)
        if way == "storing" {
            try await store.set(.maximumImageBytes, to: 1 << 30)
            try await store.set(.budget, to: 1 << 40)
        }
        try await fetch(small, way, store)
        let idle = try ProcessMemory.current()
        try ProcessMemory.resetPeak()
        try await fetch(large, way, store)
        print(idle, try ProcessMemory.peak())
        try await store.close()
        #else
        throw BenchmarkError("This platform does not report the memory of a process.")
        #endif
    }

    private struct Wall: FetchableImage {
        let avatarStore: AvatarStore
    }

    private static func fetch(_ url: String, _ way: String, _ store: AvatarStore) async throws {
        switch way {
        case "FetchableImage": _ = try await Wall(avatarStore: store).fetchImage(from: url)
        case "FutureAvatar": _ = try await FutureAvatar(url: url, from: store).image
        case "RemoteAvatar": try await show(RemoteAvatar(url: url, from: store, memory: nil))
        case "AvatarLoader":
            try await load(AvatarLoader(regularURL: url, from: store, memory: nil, startsAtOnce: true))
        case "AvatarPrefetcher":
            let prefetcher = AvatarPrefetcher(store: store)
            prefetcher.prefetch([url])
            await prefetcher.waitUntilDone()
            guard try store.localFile(for: AvatarKey(url: url)) != nil else {
                throw BenchmarkError("The prefetcher did not fetch \(url).")
            }
        case "AvatarPublisher": try await receive(AvatarPublisher(url: url, from: store))
        case "storing": _ = try await store.file(for: AvatarKey(url: url))
        case "URLSession":
            guard let url = URL(string: url) else { throw BenchmarkError("\"\(url)\" is not a URL.") }
            _ = try await URLSession.shared.data(from: url)
        default: throw BenchmarkError("There is no front end \"\(way)\".")
        }
    }

    @MainActor private static func show(_ avatar: RemoteAvatar) async throws {
        while case .loading = avatar.state { try await Task.sleep(for: .milliseconds(2)) }
        if case .failure(let error) = avatar.state { throw error }
    }

    @MainActor private static func load(_ loader: AvatarLoader) async throws {
        while loader.isLoading { try await Task.sleep(for: .milliseconds(2)) }
        if let error = loader.error { throw error }
    }

    private static func receive(_ publisher: AvatarPublisher) async throws {
        var subscription: AnyCancellable?
        let files = AsyncThrowingStream<URL, any Error> { stream in
            subscription = publisher.sink { completion in
                switch completion {
                case .finished: stream.finish()
                case .failure(let error): stream.finish(throwing: error)
                }
            } receiveValue: {
                stream.yield($0.fileURL)
            }
        }
        for try await _ in files {}
        subscription?.cancel()
    }
}
