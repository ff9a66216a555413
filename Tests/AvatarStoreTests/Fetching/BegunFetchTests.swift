import AvatarProviders
import AvatarStoreTesting
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import AvatarStore
@testable import AvatarWriter

/// A missed read begins in the task of its reader, and is committed without a task.
@Suite(.timeLimit(.minutes(5)))
struct BegunFetchTests {
    /// Answers with an image, and records the task that began each request.
    private final class Client: OriginClient {
        private struct Begun: BegunRequest {
            func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
                throw CancellationError()
            }

            func cancel() {}
        }

        let tasks = Mutex<[Int?]>([])
        /// Whether a request was begun on the main thread.
        let isOnMainThread = Atomic(false)
        private let image = SampleImage.png(seed: 1, byteCount: 1000)
        /// Whether the response is there before `begin` returns.
        private let isEarly: Bool

        init(isEarly: Bool = false) {
            self.isEarly = isEarly
        }

        static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            request.willSend()
            if Thread.isMainThread { isOnMainThread.store(true, ordering: .relaxed) }
            tasks.withLock { $0.append(Self.currentTask) }
            let head = OriginHead(status: 200, fields: [.cacheControl: "max-age=60"])
            let answer: @Sendable () -> Void = { [image] in arrival(.success(OriginArrival(head: head, body: image))) }
            if isEarly { answer() } else { DispatchQueue.global().async(execute: answer) }
            return Begun()
        }
    }

    private let url = "https://example.org/a.png"
    private let reload = FetchOptions(policy: .reload)

    @Test(arguments: [false, true]) func readerSendsTheRequestItself(isEarly: Bool) async throws {
        let client = Client(isEarly: isEarly)
        try await StoreFixture.withStore({ $0.originClient = client }) { fixture in
            let task = Task.detached { [url] in
                let image = try await fixture.store.avatar(for: url)
                return (Client.currentTask, image.file.source)
            }
            let (reader, source) = try await task.value

            #expect(source == .origin)
            #expect(client.tasks.withLock { $0 } == [reader])
            try fixture.expectConsistent()
        }
    }

    /// The look-ups and the lease would hold up its thread.
    @Test func readerOnAnActorDoesNot() async throws {
        let client = Client()
        try await StoreFixture.withStore({ $0.originClient = client }) { fixture in
            try await readOnMainActor(fixture.store)
            #expect(client.tasks.withLock { $0.count } == 1)
            let isOnMainThread = client.isOnMainThread.load(ordering: .relaxed)
            #expect(!isOnMainThread)
        }
    }

    @MainActor private func readOnMainActor(_ store: AvatarStore) async throws {
        _ = try await store.avatar(for: url)
    }

    /// The host may get the next request although the writer is busy.
    @Test func placeOfTheHostIsFreeBeforeTheCommit() async throws {
        let client = Client()
        try await StoreFixture.withStore({ $0.originClient = client }) { fixture in
            let (store, isBusy) = (fixture.store, DispatchSemaphore(value: 0))
            store.fetching.parts.writable?.writer.thread.run { isBusy.wait() }
            let read = Task.detached { [url] in try await store.avatar(for: url) }
            try await waitUntil { client.tasks.withLock { $0.count } == 1 }

            try await waitUntil { store.fetching.requests.activeCount == 0 }
            #expect(try store.storedAvatar(for: url) == nil)
            isBusy.signal()
            #expect(try await read.value.file.source == .origin)
        }
    }

    /// Another process would wait for a lease that is still held.
    @Test func leaseHasEndedWhenTheReaderGoesOn() async throws {
        let client = Client()
        try await StoreFixture.withStore({ $0.originClient = client }) { fixture in
            let store = fixture.store
            let key = try AvatarKey(url: url)
            let free = try await Task.detached { [url, reload] in
                var free = 0
                for _ in 0..<200 {
                    _ = try await store.avatar(for: url, options: reload)
                    if store.fetching.parts.writable?.places.leases.isFree(key) == true { free += 1 }
                }
                return free
            }.value
            #expect(free == 200)
        }
    }
}
