#if canImport(Combine) || OpenCombine
import AvatarFrontEnds
import AvatarPublisher
import AvatarStore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

/// A subscriber that requests what a test tells it to, and records the signals it receives.
private final class Listener: Subscriber, Sendable {
    typealias Input = AvatarPublisher.Output
    typealias Failure = AvatarStoreError

    private let box = Mutex(Notes())
    private let (over, continuation) = AsyncStream.makeStream(of: Void.self)

    struct Notes {
        nonisolated(unsafe) var subscription: (any Subscription)?
        var files: [URL] = []
        var completions = 0
        var error: AvatarStoreError?
    }

    var notes: Notes { box.withLock { $0 } }

    func receive(subscription: any Subscription) {
        nonisolated(unsafe) let subscription = subscription
        box.withLock { $0.subscription = subscription }
    }

    func receive(_ input: AvatarPublisher.Output) -> Subscribers.Demand {
        box.withLock { $0.files.append(input.fileURL) }
        return .none
    }

    func receive(completion: Subscribers.Completion<AvatarStoreError>) {
        box.withLock { notes in
            notes.completions += 1
            if case .failure(let error) = completion { notes.error = error }
        }
        continuation.finish()
    }

    func ask(_ demand: Subscribers.Demand) { notes.subscription?.request(demand) }

    func isOver() async { for await _ in over {} }
}

private final class Image {
    var file: URL?
}

/// A subscriber that cancels when it receives its value.
private final class HastyListener: Subscriber, Sendable {
    typealias Input = AvatarPublisher.Output
    typealias Failure = AvatarStoreError

    private struct Notes {
        nonisolated(unsafe) var subscription: (any Subscription)?
        var completions = 0
    }

    private let notes = Mutex(Notes())
    let (values, continuation) = AsyncStream.makeStream(of: Void.self)

    var completions: Int { notes.withLock { $0.completions } }

    func receive(subscription: any Subscription) {
        nonisolated(unsafe) let subscription = subscription
        notes.withLock { $0.subscription = subscription }
        subscription.request(.unlimited)
    }

    func receive(_ input: AvatarPublisher.Output) -> Subscribers.Demand {
        notes.withLock { $0.subscription }?.cancel()
        continuation.finish()
        return .unlimited
    }

    func receive(completion: Subscribers.Completion<AvatarStoreError>) {
        notes.withLock { $0.completions += 1 }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct AvatarPublisherTests {
    private let face = SampleImage.png(seed: 1, byteCount: 1000)

    @Test func fetchStartsWithTheFirstDemand() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png", etag: "\"1\"")
            let listener = Listener()
            AvatarPublisher(url: url, from: fixture.store).receive(subscriber: listener)
            listener.ask(.none)
            // A request of the publisher would arrive before this one.
            _ = try await fixture.store.avatar(for: fixture.serve(face, at: "/b.png"))
            #expect(fixture.origin.requestCount(for: "/a.png") == 0)

            listener.ask(.max(1))
            listener.ask(.unlimited)
            await listener.isOver()

            #expect(listener.notes.files.count == 1 && listener.notes.completions == 1)
            let file = try #require(listener.notes.files.first)
            #expect(try Data(contentsOf: file) == Data(face))
            #expect(fixture.origin.requestCount(for: "/a.png") == 1)
        }
    }

    @Test func sinkReceivesOneFileWithMetadataAndCompletes() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png", etag: "\"1\"")
            var subscriptions: [AnyCancellable] = []
            let events = AsyncStream<String> { stream in
                AvatarPublisher(url: url, from: fixture.store).sink {
                    stream.yield("\($0)")
                    stream.finish()
                } receiveValue: { output in
                    stream.yield("\(output.file.mediaType) \(output.responseFields?.contains("max-age") == true)")
                }
                .store(in: &subscriptions)
            }
            var seen: [String] = []
            for await event in events { seen.append(event) }
            #expect(seen == ["image/png true", "finished"])
            subscriptions = []
        }
    }

    @Test func failureIsTyped_andCanBeReplaced() async throws {
        try await StoreFixture.withStore { fixture in
            let missing = fixture.origin.url("/missing.png")
            let listener = Listener()
            AvatarPublisher(url: missing, from: fixture.store).receive(subscriber: listener)
            listener.ask(.unlimited)
            await listener.isOver()
            #expect(listener.notes.error?.failure == .gone && listener.notes.files.isEmpty)

            let fallback = try await fixture.store.file(for: AvatarKey(url: fixture.serve(face, at: "/silhouette.png")))
            let path = try #require(fallback.localFile)
            let output = AvatarPublisher.Output(
                fileURL: URL(fileURLWithPath: path),
                file: fallback,
                responseFields: nil
            )
            var subscriptions: [AnyCancellable] = []
            let files = AsyncStream<URL> { stream in
                AvatarPublisher(url: missing, from: fixture.store).replaceError(with: output).sink {
                    _ in
                    stream.finish()
                } receiveValue: {
                    stream.yield($0.fileURL)
                }
                .store(in: &subscriptions)
            }
            var seen: [URL] = []
            for await file in files { seen.append(file) }
            #expect(seen.map(\.path) == [path])
            subscriptions = []
        }
    }

    @Test func assignAndASubjectWork() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let subject = PassthroughSubject<AvatarPublisher.Output, AvatarStoreError>()
            let image = Image()
            var subscriptions: [AnyCancellable] = []
            let ends = AsyncStream<Bool> { stream in
                subject.map { Optional($0.fileURL) }.replaceError(with: nil)
                    .handleEvents(receiveCompletion: { _ in stream.finish() })
                    .assign(to: \.file, on: image).store(in: &subscriptions)
            }
            AvatarPublisher(url: url, from: fixture.store).subscribe(subject).store(in: &subscriptions)
            for await _ in ends {}
            let file = try #require(image.file)
            #expect(try Data(contentsOf: file) == Data(face))
            subscriptions = []
        }
    }

    @Test func cancellingCancelsTheDownload_unlessAnotherReaderWaits() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let listeners = [Listener(), Listener()]
            for listener in listeners {
                AvatarPublisher(url: url, from: fixture.store).receive(subscriber: listener)
                listener.ask(.max(1))
            }
            try await waitUntil { try fixture.store.waiterCount(of: AvatarKey(url: url)) >= 2 }
            try await fixture.origin.waitForRequests()
            listeners[0].notes.subscription?.cancel()
            try await waitUntil { try fixture.store.waiterCount(of: AvatarKey(url: url)) <= 1 }
            #expect(fixture.origin.openConnections == 1)

            listeners[1].notes.subscription?.cancel()

            try await fixture.origin.waitForNoConnection()
            listeners[1].ask(.max(1))
            #expect(listeners.allSatisfy { $0.notes.completions == 0 && $0.notes.files.isEmpty })
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func subscriberThatCancelsOnItsValueGetsNoCompletion() async throws {
        try await StoreFixture.withStore { fixture in
            let listener = HastyListener()
            AvatarPublisher(url: fixture.serve(face, at: "/a.png"), from: fixture.store).receive(subscriber: listener)
            for await _ in listener.values {}
            // A completion would arrive right after the value, before the value of another subscription.
            let next = Listener()
            AvatarPublisher(url: fixture.serve(face, at: "/b.png"), from: fixture.store).receive(subscriber: next)
            next.ask(.unlimited)
            await next.isOver()
            #expect(listener.completions == 0)
        }
    }

    /// Targets are bound to one image after the other, while responses are delayed at random and some fail.
    @Test func everySubscriberGetsItsOwnImage() async throws {
        let faces = (0..<60).map { SampleImage.png(seed: UInt64($0), byteCount: 300 + $0) }
        try await StoreFixture.withStore { fixture in
            let urls = faces.indices.map { number in
                fixture.origin.setResponse(for: "/\(number).png") { _ in
                    let answer: LoopbackOrigin.Response = number % 7 == 3 ? .status(404) : .image(faces[number])
                    return answer.delayed(by: .milliseconds(Int.random(in: 0...20)))
                }
                return fixture.origin.url("/\(number).png")
            }
            let right = Mutex(0)
            let wrong = Mutex(0)
            var targets = [AnyCancellable?](repeating: nil, count: 1000)
            for step in 0..<4000 {
                let number = Int.random(in: faces.indices)
                let publisher = AvatarPublisher(url: urls[number], from: fixture.store)
                let target = Int.random(in: targets.indices)
                // Replacing the earlier subscription cancels it.
                targets[target] = publisher.map { FileManager.default.contents(atPath: $0.fileURL.path) }
                    .replaceError(with: nil)
                    .sink { bytes in
                        let isRight = number % 7 == 3 ? bytes == nil : bytes == Data(faces[number])
                        if isRight { right.withLock { $0 += 1 } } else { wrong.withLock { $0 += 1 } }
                    }
                if step % 5 == 0 { targets[Int.random(in: targets.indices)] = nil }
                if step % 16 == 0 { await Task.yield() }
            }
            try await waitUntil { right.withLock({ $0 }) >= 500 }
            targets = []
            #expect(wrong.withLock { $0 } == 0)
        }
    }

    @Test func aHundredRequestsFromAllFrontEndsShareOneDownload() async throws {
        struct Wall: FetchableImage { let avatarStore: AvatarStore }
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face).delayed(by: .milliseconds(300)), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let store = fixture.store
            let listeners = (0..<20).map { _ in Listener() }
            for listener in listeners {
                AvatarPublisher(url: url, from: store).receive(subscriber: listener)
                listener.ask(.max(1))
            }
            let (remotes, loaders) = await MainActor.run {
                (
                    (0..<20).map { _ in RemoteAvatar(url: url, from: store) },
                    (0..<20).map { _ in AvatarLoader(url: url, from: store, startsAtOnce: true) }
                )
            }
            let wall = Wall(avatarStore: store)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let image = try await wall.fetchImage(from: url)
                        #expect(image.bytes == face)
                    }
                    group.addTask {
                        let image = try await FutureAvatar(url: url, from: store).image
                        #expect(image.bytes == face)
                    }
                }
                try await group.waitForAll()
            }
            for listener in listeners {
                await listener.isOver()
                #expect(listener.notes.files.count == 1)
            }
            try await waitUntil { await MainActor.run { loaders.allSatisfy { $0.image != nil } } }
            withExtendedLifetime(remotes) {}
            #expect(fixture.origin.requestCount == 1)
        }
    }

    /// The file that a publisher with this rendition delivers, or the error.
    private func publish(_ url: String, as rendition: Rendition?, in store: AvatarStore) async -> Listener.Notes {
        let listener = Listener()
        AvatarPublisher(url: url, from: store, options: FetchOptions(rendition: rendition)).receive(
            subscriber: listener
        )
        listener.ask(.max(1))
        await listener.isOver()
        return listener.notes
    }

    @Test func renditionIsPublishedAsAFile() async throws {
        let maker = SampleMaker()
        let large = SampleImage.png(seed: 1, byteCount: 60_000)
        try await StoreFixture.withStore {
            $0.renditions = maker
        } _: { fixture in
            let url = fixture.serve(large, at: "/a.png")
            for size in [96, nil, 48, 96] {
                let notes = await publish(url, as: size.map { Rendition(size: $0) }, in: fixture.store)
                let file = try #require(notes.files.first)
                let expected = size.map { SampleImage.png(seed: UInt64($0), byteCount: 1000) } ?? large
                #expect(try Data(contentsOf: file) == Data(expected))
            }
            #expect(maker.count == 2 && fixture.origin.requestCount == 1)
        }
    }

    @Test func renditionWithoutRoomHasNoFile_andTheErrorHasTheReason() async throws {
        try await StoreFixture.withStore {
            $0.renditions = SampleMaker(byteCount: 5000)
            $0.budget = 62_000
        } _: { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 60_000), at: "/a.png")
            let notes = await publish(url, as: Rendition(size: 96), in: fixture.store)
            #expect(notes.files.isEmpty && notes.error?.code == .noSuchEntry)
            #expect(notes.error?.message.contains("no room for it") == true)
        }
    }

    #if os(Linux)
    /// Measures in a separate process how much memory a download of 13 MB adds.
    @Test func memoryStaysFlatForALargeImage() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            try await StoreFixture.withStore { fixture in
                let large = LoopbackOrigin.Body.generated(byteCount: 13_000_000, beginning: Self.small)
                fixture.origin.setResponse(LoopbackOrigin.Response(body: large), for: "/large.png")
                fixture.serve(Self.small, at: "/small.png")
                func fetch(_ url: String) async {
                    let listener = Listener()
                    AvatarPublisher(url: url, from: fixture.store).receive(subscriber: listener)
                    listener.ask(.max(1))
                    await listener.isOver()
                    precondition(listener.notes.files.count == 1)
                }
                await fetch(fixture.origin.url("/small.png"))
                let idle = try ProcessMemory.current()
                try ProcessMemory.resetPeak()
                await fetch(fixture.origin.url("/large.png"))
                let growth = try ProcessMemory.peak() - idle
                print("13 MB by AvatarPublisher: \(idle >> 20) MiB idle, \(growth >> 20) MiB more at the peak")
                precondition(growth < 6_000_000)
            }
        }
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }
    #endif

    private static let small = SampleImage.png(seed: 1, byteCount: 1000)
}

#endif
