import AvatarFrontEnds
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// A row of a list. It shows one image at a time, and records all contents it was given.
@MainActor
private final class Row {
    let target = AvatarTarget()
    private(set) var shown: [[UInt8]?] = []
    private(set) var error: AvatarStoreError?

    func show(_ avatar: FutureAvatar, in store: AvatarStore? = nil) throws {
        try avatar.bind(to: target, in: store) { [weak self] in self?.take($0) }
    }

    /// Waits until the row was given content `count` times.
    func isTold(_ count: Int) async throws {
        try await waitUntil { shown.count >= count }
    }

    private func take(_ content: FutureAvatar.Content) {
        shown.append(content.image?.bytes)
        if case .failure(let error, _) = content { self.error = error }
    }
}

private struct Person: Decodable, Sendable {
    let name: String
    let avatar: FutureAvatar
}

@MainActor
@Suite(.timeLimit(.minutes(5)))
struct FutureAvatarTests {
    private let face = Images.face(1)
    private let other = Images.face(2)

    // MARK: Starting

    @Test func unusedFutureSendsNoRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let avatar = FutureAvatar(url: fixture.serve(face, at: "/a.png"), from: fixture.store)
            #expect(avatar.content.image == nil)
            // A request of the future would arrive before this one.
            _ = try await fixture.store.avatar(for: fixture.serve(other, at: "/b.png"))
            #expect(fixture.origin.requestCount(for: "/a.png") == 0)

            #expect(try await avatar.image.bytes == face)
            #expect(avatar.content.image?.bytes == face)
            #expect(fixture.origin.requestCount(for: "/a.png") == 1)
        }
    }

    @Test(arguments: [true, false]) func manyFuturesAndCopiesShareOneFetch(isStored: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let key = try AvatarKey(url: url)
            let futures = (0..<25).map { _ in
                FutureAvatar(url: url, from: fixture.store, cache: isStored ? .disk : .none)
            }
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for future in futures + futures { group.addTask { try await future.image.bytes } }
                try await waitUntil { fixture.store.waiterCount(of: key, isTransient: !isStored) >= futures.count }
                gate.open()
                for try await bytes in group { #expect(bytes == face) }
            }
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func lastReaderToCancelEndsTheDownload() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let key = try AvatarKey(url: url)
            let futures = (0..<2).map { _ in FutureAvatar(url: url, from: fixture.store) }
            let tasks = futures.map { future in Task { try await future.image } }
            try await fixture.origin.waitForRequests()
            // The first to cancel would be the last if the other had not come yet.
            try await waitUntil { fixture.store.waiterCount(of: key) == 2 }
            tasks[0].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[0].value }
            #expect(fixture.origin.openConnections == 1)

            tasks[1].cancel()

            _ = await tasks[1].result
            try await fixture.origin.waitForNoConnection()
            #expect(fixture.origin.requestCount == 1)
        }
    }

    // MARK: Failing

    @Test func transientFailuresAreRetried() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.serve(face, at: "/a.png")
            let url = fixture.origin.url("/a.png")
            fixture.origin.setResponse(for: "/a.png") { _ in
                fixture.origin.requestCount < 3 ? .status(503) : .image(Images.face(1))
            }
            let retry = FetchRetry(attempts: 3, delay: .milliseconds(1))

            let image = try await FutureAvatar(url: url, from: fixture.store, retry: retry).image
            #expect(image.bytes == face)
            #expect(fixture.origin.requestCount == 3)
        }
    }

    @Test func failsAfterTheLastAttempt_andCanBeUsedAgain() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.status(503), for: "/a.png")
            let retry = FetchRetry(attempts: 2, delay: .milliseconds(1))
            let avatar = FutureAvatar(url: fixture.origin.url("/a.png"), from: fixture.store, retry: retry)
            await #expect { try await avatar.image } throws: { ($0 as? AvatarStoreError)?.failure == .serverError }
            #expect(fixture.origin.requestCount == 2)
            guard case .failure(let error, nil) = avatar.content else {
                Issue.record("it failed")
                return
            }
            #expect(error.failure == .serverError)

            fixture.serve(face, at: "/a.png")
            let image = try await avatar.image
            #expect(image.bytes == face)
        }
    }

    @Test func permanentFailureIsNotRetried() async throws {
        try await StoreFixture.withStore { fixture in
            let avatar = FutureAvatar(url: fixture.origin.url("/missing.png"), from: fixture.store)
            await #expect { try await avatar.image } throws: { ($0 as? AvatarStoreError)?.failure == .gone }
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func useWithoutAStoreIsATypedError() async throws {
        let avatar = FutureAvatar(url: "https://example.org/a.png?token=secret")
        await #expect { try await avatar.image } throws: { error in
            let error = error as? AvatarStoreError
            return error?.code == .noStore && error?.message.contains("secret") == false
        }
        let row = Row()
        #expect { try row.show(avatar) } throws: { ($0 as? AvatarStoreError)?.code == .noStore }
        #expect(avatar.content.image == nil)
        #expect(row.shown.isEmpty)
    }

    // MARK: Caches

    @Test func cachePolicyDecidesWhereTheImageIsKept() async throws {
        try await StoreFixture.withStore { fixture in
            func use(_ name: String, _ cache: FutureAvatar.CachePolicy) async throws -> (twice: Int, stored: Bool) {
                let url = fixture.serve(face, at: "/\(name).png")
                #expect(try await FutureAvatar(url: url, from: fixture.store, cache: cache).image.bytes == face)
                #expect(try await FutureAvatar(url: url, from: fixture.store, cache: cache).image.bytes == face)
                let isStored = try fixture.store.storedAvatar(for: url) != nil
                return (fixture.origin.requestCount(for: "/\(name).png"), isStored)
            }
            #expect(try await use("disk", .disk) == (1, true))
            let key = try AvatarKey(url: fixture.origin.url("/disk.png"))
            #expect(MemoryCache.shared.image(for: key) == nil)
            let memory = MemoryCache()
            #expect(try await use("memory", .memory(memory)) == (1, false))
            #expect(memory.count == 1)
            #expect(try await use("both", .memoryAndDisk(memory)) == (1, true))
            #expect(memory.count == 2)
            #expect(try await use("none", .none) == (2, false))
        }
    }

    @Test func futureWithoutACacheKeepsItsImage() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let avatar = FutureAvatar(url: url, from: fixture.store, cache: .none)
            _ = try await avatar.image
            #expect(try await avatar.image.bytes == face)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    // MARK: Targets

    @Test func targetShowsThePlaceholderAndThenTheImage() async throws {
        try await StoreFixture.withStore { fixture in
            let silhouette = try await fixture.store.save(other, named: "silhouette")
            let url = fixture.serve(face, at: "/a.png")
            let row = Row()

            try row.show(FutureAvatar(url: url, from: fixture.store, placeholder: silhouette))
            #expect(row.shown == [other])

            try await row.isTold(2)
            #expect(row.shown == [other, face])
        }
    }

    @Test func reboundTargetShowsAStoredImageAtOnce() async throws {
        try await StoreFixture.withStore { fixture in
            let avatar = FutureAvatar(url: fixture.serve(face, at: "/a.png"), from: fixture.store)
            _ = try await avatar.image
            let (first, second) = (Row(), Row())
            try first.show(avatar)
            try second.show(avatar)
            try second.show(avatar)
            #expect(first.shown == [face] && second.shown == [face, face])
        }
    }

    @Test func lateResultNeverReachesAReboundTarget() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face).delayed(by: .milliseconds(150)), for: "/late.png")
            let late = FutureAvatar(url: fixture.origin.url("/late.png"), from: fixture.store)
            let quick = FutureAvatar(url: fixture.serve(other, at: "/quick.png"), from: fixture.store)
            let row = Row()
            try row.show(late)
            try row.show(quick)
            // Another reader waits for the image, so its response does arrive.
            let (another, waiting) = (Row(), Task { try await late.image })
            try await row.isTold(3)
            _ = try await waiting.value
            try another.show(late)
            #expect(row.shown == [nil, nil, other])
            #expect(another.shown == [face])
        }
    }

    @Test(arguments: [true, false]) func onlyTheLastBoundTargetShowsTheImage(isStored: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let avatar = FutureAvatar(url: url, from: fixture.store, cache: isStored ? .disk : .none)
            let (first, second) = (Row(), Row())
            try first.show(avatar)
            try await fixture.origin.waitForRequests()
            try second.show(avatar)
            gate.open()
            try await second.isTold(2)
            #expect(first.shown == [nil])
            #expect(second.shown == [nil, face])
            #expect(fixture.origin.requestCount == 1, "the second binding continues the fetch of the first")
        }
    }

    @Test func targetShowsAFailure_withThePlaceholder() async throws {
        try await StoreFixture.withStore { fixture in
            let silhouette = try await fixture.store.save(other, named: "silhouette")
            let missing = fixture.origin.url("/missing.png")
            let row = Row()
            try row.show(FutureAvatar(url: missing, from: fixture.store, placeholder: silhouette))
            try await row.isTold(2)
            #expect(row.shown == [other, other])
            #expect(row.error?.failure == .gone)
        }
    }

    @Test func releasedTargetCancelsItsFetch() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/a.png")
            let avatar = FutureAvatar(url: fixture.origin.url("/a.png"), from: fixture.store)
            var row: Row? = Row()
            weak let weakRow = row
            try row?.show(avatar)
            try await fixture.origin.waitForRequests()

            row = nil

            #expect(weakRow == nil)
            try await fixture.origin.waitForNoConnection()
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func unboundTargetShowsNothingMore() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.image(face).delayed(by: .milliseconds(50)), for: "/a.png")
            let avatar = FutureAvatar(url: fixture.origin.url("/a.png"), from: fixture.store)
            let row = Row()
            try row.show(avatar)
            row.target.unbind()
            _ = try await avatar.image
            #expect(row.shown == [nil])
        }
    }

    @Test func targetOfAnotherActorIsCalledOnThatActor() async throws {
        actor Shelf {
            private let targets = (0..<20).map { _ in AvatarTarget() }
            private var shown: [Int: [UInt8]] = [:]

            func show(_ avatars: [FutureAvatar]) throws {
                for (number, avatar) in avatars.enumerated() {
                    try avatar.bind(to: targets[number]) { self.take($0, number) }
                }
            }

            /// The image of each target, once all of them have one.
            func images() async throws -> [Int: [UInt8]] {
                try await waitUntil { shown.count >= targets.count }
                return shown
            }

            private func take(_ content: FutureAvatar.Content, _ number: Int) {
                preconditionIsolated()
                shown[number] = content.image?.bytes
            }
        }
        try await StoreFixture.withStore { fixture in
            let avatars = (0..<20).map { number in
                FutureAvatar(url: fixture.serve(Images.face(number), at: "/\(number).png"), from: fixture.store)
            }
            // The futures are created on the main actor and shown on another one; no actor waits for the fetch.
            let shelf = Shelf()
            try await shelf.show(avatars)
            let used = await Task.detached { try? await avatars[0].image.bytes }.value
            let images = try await shelf.images()
            #expect(used == Images.face(0))
            for number in 0..<20 { #expect(images[number] == Images.face(number)) }
        }
    }

    // MARK: In models

    @Test func decoderSetsTheFetchOptions() async throws {
        try await StoreFixture.withStore { fixture in
            let memory = MemoryCache()
            fixture.origin.setResponse(.status(503), for: "/a.png")
            let decoder = JSONDecoder()
            decoder.userInfo = [
                .avatarStore: fixture.store, .avatarCache: FutureAvatar.CachePolicy.memory(memory),
                .avatarRetry: FetchRetry(attempts: 2, delay: .milliseconds(1)),
                .avatarPlaceholder: try await fixture.store.save(other, named: "silhouette"),
            ]
            let json = Data(#"{"name": "Ada", "avatar": "\#(fixture.origin.url("/a.png"))"}"#.utf8)
            let avatar = try decoder.decode(Person.self, from: json).avatar

            #expect(avatar.content.image?.bytes == other)
            await #expect(throws: AvatarStoreError.self) { try await avatar.image }
            #expect(fixture.origin.requestCount == 2)
            fixture.serve(face, at: "/a.png")
            let image = try await avatar.image
            #expect(image.bytes == face && image.localFile == nil && memory.count == 1)
        }
    }

    @Test func futureCanBeALazyPropertyOfAModel() async throws {
        @MainActor final class Model {
            let (url, store): (String, AvatarStore)
            private(set) lazy var avatar = FutureAvatar(url: url, from: store)

            init(url: String, store: AvatarStore) { (self.url, self.store) = (url, store) }
        }
        try await StoreFixture.withStore { fixture in
            let model = Model(url: fixture.serve(face, at: "/a.png"), store: fixture.store)
            #expect(model.avatar.content.image == nil && fixture.origin.requestCount == 0)
            let image = try await model.avatar.image
            #expect(image.bytes == face)
        }
    }

    @Test func decodedFutureTakesItsStoreFromTheDecoder() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let json = Data(#"[{"name": "Ada", "avatar": "\#(url)"}, {"name": "Eve", "avatar": "\#(url)"}]"#.utf8)
            let decoder = JSONDecoder()
            decoder.userInfo[.avatarStore] = fixture.store
            let people = try decoder.decode([Person].self, from: json)
            #expect(fixture.origin.requestCount == 0)

            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for person in people { group.addTask { try await person.avatar.image.bytes } }
                for try await bytes in group { #expect(bytes == face) }
            }

            #expect(fixture.origin.requestCount == 1)
            let encoded = try JSONEncoder().encode(people.map(\.avatar))
            #expect(try JSONDecoder().decode([String].self, from: encoded) == [url, url])
        }
    }

    @Test func futureDecodedAgainJoinsTheSameFetch() async throws {
        try await StoreFixture.withStore { fixture in
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.image(face).held(by: gate), for: "/a.png")
            let json = Data(#"{"name": "Ada", "avatar": "\#(fixture.origin.url("/a.png"))"}"#.utf8)
            let row = Row()
            for count in 1...20 {
                // Each model lives only until its future is bound, and gets its store from the binding.
                try row.show(try JSONDecoder().decode(Person.self, from: json).avatar, in: fixture.store)
                if count == 1 { try await fixture.origin.waitForRequests() }
            }
            gate.open()
            try await row.isTold(21)
            #expect(row.shown == Array(repeating: nil, count: 20) + [face])
            #expect(fixture.origin.requestCount == 1)
        }
    }
}
