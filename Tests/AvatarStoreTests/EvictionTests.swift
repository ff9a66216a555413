import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EvictionTests {
    /// Stores `count` images of 1,000 bytes one after the other.
    private func fill(_ fixture: StoreFixture, _ count: Int) async throws -> [AvatarKey] {
        var keys: [AvatarKey] = []
        for number in 0..<count {
            let url = fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 1000), at: "/\(number).png")
            keys.append(try await fixture.store.avatar(for: url).key)
        }
        return keys
    }

    private func stored(_ keys: [AvatarKey], _ fixture: StoreFixture) throws -> [Int] {
        try keys.indices.filter { try fixture.store.localFile(for: keys[$0], recordsAccess: false) != nil }
    }

    @Test func leastRecentlyUsedGoFirst_downToTheLowWatermark() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 10_000)
            let keys = try await fill(fixture, 10)
            _ = try fixture.store.storedAvatar(for: keys[0])

            let url = fixture.serve(SampleImage.png(seed: 99, byteCount: 1000), at: "/new.png")
            _ = try await fixture.store.avatar(for: url)

            // 10,000 bytes are in use; 9,000 is the low watermark and what the new image leaves of the budget.
            #expect(try stored(keys, fixture) == [0, 2, 3, 4, 5, 6, 7, 8, 9])
            #expect(try fixture.store.details(for: keys[1])?.overview.state == .evicted)
            try fixture.expectConsistent()
        }
    }

    @Test("nothing is evicted when the bytes of a purged file come again")
    func purgedFileTakesNoRoom() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 2500)
            let keys = try await fill(fixture, 2)
            let purged = try #require(try fixture.store.localFile(for: keys[1], recordsAccess: false))
            try FileManager.default.removeItem(atPath: purged)

            let again = fixture.serve(SampleImage.png(seed: 1, byteCount: 1000), at: "/again.png")
            _ = try await fixture.store.avatar(for: again)

            #expect(try stored(keys, fixture) == [0])
            #expect(try fixture.store.details(for: keys[1])?.overview.state == .missing)
            try fixture.expectConsistent()
        }
    }

    @Test func imageLargerThanTheBudgetIsRefused_nothingIsEvicted() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 5000)
            let keys = try await fill(fixture, 4)
            let url = fixture.serve(SampleImage.png(seed: 99, byteCount: 6000), at: "/big.png")

            await #expect { try await fixture.store.avatar(for: url) } throws: { error in
                guard let error = error as? AvatarStoreError else { return false }
                return error.code == .overBudget && error.message.contains("6000") && error.message.contains("5000")
            }
            #expect(try stored(keys, fixture) == [0, 1, 2, 3])
            try fixture.expectConsistent()
        }
    }

    @Test func documentsDoNotCountAgainstTheBudgetAndStay() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 2000)
            let key = try await fixture.store.save(SampleImage.png(seed: 7, byteCount: 8000), named: "me")
            _ = try await fill(fixture, 4)

            try await fixture.store.trim(to: 0)

            #expect(try fixture.store.storedAvatar(for: key)?.bytes.count == 8000)
            #expect(try fixture.store.statistics().cachesBytes == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func loweringTheBudgetTrimsBeforeItReturns() async throws {
        try await StoreFixture.withStore { fixture in
            let keys = try await fill(fixture, 10)

            try await fixture.store.set(.budget, to: 5000)

            // The low watermark is 90 % of 5,000.
            #expect(try stored(keys, fixture) == [6, 7, 8, 9])
            try fixture.expectConsistent()
        }
    }

    @Test func trimTakesTheMinimum() async throws {
        try await StoreFixture.withStore { fixture in
            let keys = try await fill(fixture, 5)

            let freed = try await fixture.store.trim(to: 3500)

            #expect(freed == EvictionReport(files: 2, bytes: 2000))
            #expect(try stored(keys, fixture) == [2, 3, 4])
        }
    }

    @Test func evictedEntryKeepsItsRow_andIsFetchedByARead() async throws {
        try await StoreFixture.withStore { fixture in
            let keys = try await fill(fixture, 2)
            try await fixture.store.trim(to: 0)

            let image = try await fixture.store.avatar(for: keys[0])

            #expect(image.source == .origin)
            #expect(fixture.origin.requests.last?.headers["If-None-Match"] == nil)
            #expect(try fixture.store.statistics().states[.evicted] == 1)
        }
    }

    @Test func orderOfUseSurvivesTheProcess() async throws {
        try await StoreFixture.withStore { fixture in
            let keys = try await fill(fixture, 3)
            fixture.clock.advance(by: .seconds(1))
            let other = try await fixture.openAgain()
            _ = try other.storedAvatar(for: keys[0])
            try await other.close()

            try await fixture.store.trim(to: 1000)

            #expect(try stored(keys, fixture) == [0])
        }
    }

    @Test("after another process recreated a purged caches directory, its files are evicted too")
    func purgedDirectory() async throws {
        try await StoreFixture.withStore { fixture in
            let images = (0..<6).map { SampleImage.png(seed: UInt64($0), byteCount: 1000) }
            try await fixture.store.save(images[0], named: "0", in: .caches)
            try FileManager.default.removeItem(atPath: fixture.directory + "/caches")
            let other = try await fixture.openAgain()
            for number in 1..<6 { try await other.save(images[number], named: "\(number)", in: .caches) }
            try await other.close()

            _ = try await fixture.store.trim(to: 2000)

            #expect(fixture.files(in: .caches).count == 2)
            try fixture.expectConsistent()
        }
    }

    @Test("a list that is larger than the budget is fetched again after a purge, as far as there is room")
    func purgedWhileFull() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 10_000)
            let contacts = (0..<20).map { number in
                let image = SampleImage.png(seed: UInt64(number), byteCount: 1000)
                return Contact(id: "\(number)", avatarURL: fixture.serve(image, at: "/\(number).png"))
            }
            let first = try await fixture.store.sync(contacts: contacts)
            try FileManager.default.removeItem(atPath: fixture.directory + "/caches")

            let second = try await fixture.store.sync(contacts: contacts)

            #expect(first.fetched >= 9 && second.fetched >= 9)
            #expect(fixture.files(in: .caches).count >= 9)
            try fixture.expectConsistent()
        }
    }

    @Test("after the clock was set back, the least recently used file is still evicted first")
    func clockSetBack() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.clock.advance(by: .seconds(9 * 365 * 86_400))
            let contacts = (0..<10).map { number in
                let image = SampleImage.png(seed: UInt64(number), byteCount: 1000)
                return Contact(id: "\(number)", avatarURL: fixture.serve(image, at: "/\(number).png"))
            }
            for contact in contacts { _ = try await fixture.store.sync(contacts: [contact]) }
            try await fixture.store.set(.budget, to: 10_000)
            fixture.clock.advance(by: .seconds(-9 * 365 * 86_400))
            let other = try await fixture.openAgain()
            let face = SampleImage.png(seed: 99, byteCount: 1000)
            let late = Contact(id: "x", avatarURL: fixture.serve(face, at: "/x.png"))

            let report = try await other.sync(contacts: [late])
            try await other.close()

            #expect(report.fetched == 1 && report.overBudget == 0 && report.evicted > 0)
            let stored = try contacts.map { try fixture.store.storedAvatar(for: $0.avatarURL ?? "") != nil }
            #expect(stored == stored.sorted { !$0 && $1 })
            try fixture.expectConsistent()
        }
    }
}
