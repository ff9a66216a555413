import Testing

@testable import AvatarCore

/// The keys of a shared tier, and what a listing of them tells.
@Suite(.timeLimit(.minutes(5)))
struct TierLayoutTests {
    private static func url(_ number: Int) -> TierURL {
        TierURL(sha256: (0..<32).map { $0 == 0 ? UInt8(number) : 7 })
    }

    private static func generation(_ time: Int64, image: UInt8? = nil) -> TierGeneration {
        TierGeneration(
            time: Timestamp(milliseconds: time),
            freshUntil: Timestamp(milliseconds: time + 1000),
            content: image.map { .image(Array(repeating: $0, count: 32)) } ?? .gone
        )
    }

    @Test(arguments: [nil, 3 as UInt8])
    func aGenerationIsItsName(_ image: UInt8?) throws {
        let generation = Self.generation(1_767_225_600_000, image: image)
        #expect(TierGeneration(name: generation.name) == generation)
        let key = TierLayout.record(of: Self.url(1), generation)
        #expect(SharedTierKey.isValid(key))
        let parts = try #require(TierLayout.split(key, prefix: TierLayout.records))
        #expect(parts.url == Self.url(1))
        #expect(parts.rest == generation.name)
    }

    @Test func theNewestGenerationComesFirst() {
        let times: [Int64] = [1, 1_000, 1_767_225_600_000, 1_767_225_600_001]
        let names = times.map { Self.generation($0, image: 9).name }
        #expect(names.sorted() == names.reversed())
    }

    @Test(arguments: [
        "", "x", "meta/", "meta/abc/x", "meta/\(String(repeating: "A", count: 64))/x",
        "other/\(String(repeating: "a", count: 64))/x",
        "meta/\(String(repeating: "a", count: 64))/x/y", "meta/\(String(repeating: "a", count: 63))/x",
    ])
    func otherKeysAreNoRecords(_ key: String) {
        #expect(TierLayout.split(key, prefix: TierLayout.records) == nil)
    }

    @Test(arguments: [
        "", "gone", "000000000000-000000000000", "00000000000G-000000000000-gone", "00000000000-0000000000000-gone",
        "000000000000-000000000000-zz", "000000000000-000000000000-gone-x",
    ])
    func otherNamesAreNoGenerations(_ name: String) {
        #expect(TierGeneration(name: name) == nil)
    }

    // MARK: The catalog

    private static func key(_ number: Int, _ time: Int64) -> String {
        TierLayout.record(of: url(number), generation(time, image: UInt8(number)))
    }

    @Test func aCatalogHasTheNewestGenerationOfEachURLListed() {
        var catalog = TierCatalog()
        #expect(!catalog.covers(Self.url(1)))
        catalog.add([Self.key(1, 20), Self.key(1, 10), Self.key(3, 5)], isTruncated: true)
        #expect(catalog.generation(of: Self.url(1)) == Self.generation(20, image: 1))
        #expect(catalog.covers(Self.url(2)))
        #expect(catalog.generation(of: Self.url(2)) == nil)
        #expect(!catalog.covers(Self.url(4)))
        // The records of a URL may go on in the next page.
        catalog.add([Self.key(3, 4), Self.key(4, 1)], isTruncated: false)
        #expect(catalog.generation(of: Self.url(3)) == Self.generation(5, image: 3))
        #expect(catalog.isComplete)
        #expect(catalog.covers(Self.url(200)))
        #expect(catalog.count == 3)
    }

    /// A URL may have 100,000 records: the rest of them is not listed.
    @Test func theTailOfAURLIsSkipped() throws {
        var catalog = TierCatalog()
        let many = (0..<1000).map { Self.key(5, 100_000 - Int64($0)) }
        catalog.add(many, isTruncated: true)
        let position = try #require(catalog.position)
        #expect(position > Self.key(5, 0))
        #expect(position < Self.key(6, 1_767_225_600_000))
        #expect(catalog.generation(of: Self.url(5))?.time.milliseconds == 100_000)
    }

    @Test func foreignKeysAreSkipped() {
        var catalog = TierCatalog()
        catalog.add(["meta/readme", "meta/x/y"], isTruncated: true)
        #expect(catalog.count == 0)
        #expect(catalog.position == "meta/x/y")
        #expect(!catalog.isComplete)
    }
}
