import AvatarFrontEnds
import AvatarStoreTesting
import Testing

@testable import AvatarStore

/// Eviction from the memory cache, and its agreement with the store.
@Suite(.timeLimit(.minutes(5)))
struct MemoryCacheTests {
    private func image(_ key: AvatarKey, _ count: Int) -> AvatarImage {
        let file = AvatarFile(
            key: key,
            sizeBytes: count,
            mediaType: "image/png",
            width: 1,
            height: 1,
            isStale: false,
            source: .store
        )
        return AvatarImage(file: file, bytes: [UInt8](repeating: 7, count: count))
    }

    private func cache(bytes: Int = .max, count: Int = .max, _ sizes: [Int]) throws -> (MemoryCache, [AvatarKey]) {
        let cache = MemoryCache(limits: MemoryCache.Limits(bytes: bytes, count: count))
        let keys = try sizes.indices.map { try AvatarKey(name: "\($0)") }
        for (key, size) in zip(keys, sizes) { cache.insert(image(key, size), for: key) }
        return (cache, keys)
    }

    @Test func evictsTheLeastRecentlyUsedAboveTheCount() throws {
        let (cache, keys) = try cache(count: 3, [1, 1, 1])
        #expect(cache.image(for: keys[0]) != nil)
        let fourth = try AvatarKey(name: "fourth")

        cache.insert(image(fourth, 1), for: fourth)

        #expect((keys + [fourth]).map { cache.image(for: $0) != nil } == [true, false, true, true])
        #expect(cache.count == 3)
    }

    @Test func evictsAsManyAsTheNewImageNeeds() throws {
        let (cache, keys) = try cache(bytes: 100, [40, 30, 30])
        let large = try AvatarKey(name: "large")

        cache.insert(image(large, 60), for: large)

        #expect((keys + [large]).map { cache.image(for: $0) != nil } == [false, false, true, true])
        #expect(cache.byteCount == 90)
    }

    @Test func tooLargeImageIsNotKept_andRemovesTheOldOne() throws {
        let (cache, keys) = try cache(bytes: 100, [40, 30])

        cache.insert(image(keys[0], 101), for: keys[0])

        #expect(cache.image(for: keys[0]) == nil)
        #expect(cache.image(for: keys[1]) != nil)
        #expect(cache.byteCount == 30)
    }

    @Test func lowerLimitsEvictAtOnce() throws {
        let (cache, keys) = try cache([10, 10, 10])

        cache.limits.bytes = 15

        #expect(keys.map { cache.image(for: $0) != nil } == [false, false, true])
        cache.limits = MemoryCache.Limits(bytes: 100, count: 0)
        #expect(cache.count == 0 && cache.byteCount == 0)
    }

    @Test func removeAllEmptiesTheCache() throws {
        let (cache, keys) = try cache([10, 20])

        cache.removeAll()

        #expect(keys.allSatisfy { cache.image(for: $0) == nil })
        #expect(cache.count == 0 && cache.byteCount == 0)
    }

    @Test(arguments: 0..<20) func agreesWithASimpleModel(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let cache = MemoryCache(limits: MemoryCache.Limits(bytes: 200, count: 8))
        var model: [(key: AvatarKey, size: Int)] = []
        for _ in 0..<2000 {
            let key = try AvatarKey(name: "\(random.next() % 15)")
            switch random.next() % 5 {
            case 0, 1:
                let size = Int(random.next() % 60)
                cache.insert(image(key, size), for: key)
                model.removeAll { $0.key == key }
                model.append((key, size))
                while model.count > 8 || model.reduce(0, { $0 + $1.size }) > 200 { model.removeFirst() }
            case 2, 3:
                let found = cache.image(for: key)
                let place = model.firstIndex { $0.key == key }
                #expect(found?.bytes.count == place.map { model[$0].size })
                if let place { model.append(model.remove(at: place)) }
            default:
                cache.remove(key)
                model.removeAll { $0.key == key }
            }
            #expect(cache.count == model.count)
            #expect(cache.byteCount == model.reduce(0) { $0 + $1.size })
        }
    }

    private struct Wall: FetchableImage {
        let avatarStore: AvatarStore
        let avatarMemory: MemoryCache?
    }

    @Test func imageReplacedByAnotherProcessIsNotShown() async throws {
        try await StoreFixture.withStore { fixture in
            let wall = Wall(avatarStore: fixture.store, avatarMemory: MemoryCache())
            let options = FetchableImageOptions(customFileName: "me")
            try await wall.save(image: Images.face(1), options: options)
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == Images.face(1))
            #expect(wall.avatarMemory?.count == 1)
            let other = try await fixture.openAgain()

            try await other.save(Images.face(2), named: "me", in: .caches)
            #expect(try await wall.fetchImage(from: nil, options: options).bytes == Images.face(2))

            try await other.remove(AvatarKey(name: "me"))
            await #expect(throws: AvatarStoreError.self) { try await wall.fetchImage(from: nil, options: options) }
            try await other.close()
        }
    }

    @Test func hitReadsNoFile() async throws {
        try await StoreFixture.withStore { fixture in
            let wall = Wall(avatarStore: fixture.store, avatarMemory: MemoryCache())
            let url = fixture.serve(Images.face(1), at: "/a.png")
            let first = try await wall.fetchImage(from: url)
            // Other bytes than in the file, so they can only come from memory.
            var marked = first
            marked.bytes = [1, 2, 3]
            wall.avatarMemory?.insert(marked, for: first.key)

            #expect(try await wall.fetchImage(from: url).bytes == [1, 2, 3])
            #expect(fixture.origin.requestCount == 1)
        }
    }
}
