import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// A store that is opened for one piece of work, and the budget given at opening.
@Suite(.timeLimit(.minutes(5)))
struct OpeningTests {
    private struct BodyError: Error {}

    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    private func configuration(_ fixture: StoreFixture) -> AvatarStore.Configuration {
        fixture.store.configuration
    }

    /// A closed store fails at each write.
    private func isClosed(_ store: AvatarStore) async -> Bool {
        do {
            try await store.save(face, named: "late")
            return false
        } catch {
            return true
        }
    }

    // MARK: withStore

    @Test func storeIsClosedAfterAResult() async throws {
        try await StoreFixture.withStore { fixture in
            let (store, key) = try await AvatarStore.withStore(configuration(fixture)) { store in
                (store, try await store.save(face, named: "me"))
            }

            #expect(await isClosed(store))
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == face)
        }
    }

    @Test func storeAtADirectoryIsCreatedAndClosed() async throws {
        try await StoreFixture.withStore { fixture in
            let directory = fixture.directory + "-second"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let store = try await AvatarStore.withStore(at: directory) { store in
                try await store.save(face, named: "me")
                return store
            }

            #expect(await isClosed(store))
            #expect(try await AvatarStore.withStore(at: directory) { try $0.list().items.count } == 1)
        }
    }

    @Test func errorOfTheBodyIsThrown_afterClosing() async throws {
        try await StoreFixture.withStore { fixture in
            var opened: AvatarStore?
            await #expect(throws: BodyError.self) {
                try await AvatarStore.withStore(configuration(fixture)) { store in
                    opened = store
                    throw BodyError()
                }
            }

            let store = try #require(opened)
            #expect(await isClosed(store))
        }
    }

    /// A file that cannot be unlinked is tried again at the end, so closing fails.
    @Test(arguments: [true, false])
    func errorOfClosingIsThrown_unlessTheBodyThrew(bodyThrows: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let fileSystem = FaultyFileSystem()
            await #expect {
                try await AvatarStore.withStore(configuration(fixture), fileSystem: fileSystem) { store in
                    let key = try await store.save(face, named: "me")
                    fileSystem.fail(.unlink, with: EIO, times: 1000)
                    await #expect(throws: AvatarStoreError.self) { try await store.remove(key) }
                    if bodyThrows { throw BodyError() }
                }
            } throws: { error in
                bodyThrows ? error is BodyError : (error as? AvatarStoreError)?.code == .storage
            }

            // The next opening finishes the work.
            try await fixture.openAgain().close()
            #expect(fixture.files(in: .documents).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test func cancelledTaskClosesTheStore() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/slow.png")
            let url = fixture.origin.url("/slow.png")
            let opened = AsyncStream<AvatarStore>.makeStream()
            let task = Task { [configuration = configuration(fixture)] in
                try await AvatarStore.withStore(configuration) { store in
                    opened.continuation.yield(store)
                    return try await store.avatar(for: url).bytes.count
                }
            }
            let store = try #require(await opened.stream.first { _ in true })
            try await fixture.origin.waitForRequests()

            task.cancel()

            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await isClosed(store))
        }
    }

    // MARK: Budget

    @Test func budgetIsKeptForAllProcesses() async throws {
        try await StoreFixture.withStore { fixture in
            let second = try await fixture.openAgain { $0.budget = 5000 }

            #expect(try second.value(of: .budget) == 5000)
            #expect(try fixture.store.value(of: .budget) == 5000)
            try await second.close()
            let third = try await fixture.openAgain()
            #expect(try third.value(of: .budget) == 5000)
            try await third.close()
        }
    }

    @Test func lowerBudgetEvictsBeforeTheOpeningReturns() async throws {
        try await StoreFixture.withStore { fixture in
            var urls: [String] = []
            for number in 0..<4 {
                urls.append(fixture.serve(SampleImage.png(seed: UInt64(number), byteCount: 1000), at: "/\(number).png"))
                _ = try await fixture.store.avatar(for: urls[number])
                fixture.clock.advance(by: .seconds(60))
            }

            let second = try await fixture.openAgain { $0.budget = 2500 }

            #expect(try second.statistics().cachesBytes == 2000)
            #expect(try second.storedAvatar(for: urls[0]) == nil && second.storedAvatar(for: urls[3]) != nil)
            try await second.close()
            try fixture.expectConsistent()
        }
    }

    @Test func storeForReadingOnlyIgnoresTheBudget() async throws {
        try await StoreFixture.withStore { fixture in
            let reader = try await fixture.openAgain {
                $0.access = .readOnly
                $0.budget = 5000
            }

            #expect(try reader.value(of: .budget) == 268_435_456)
            try await reader.close()
        }
    }

    @Test(arguments: [-1, 1 << 51])
    func budgetOutsideItsRangeIsRefused(budget: Int) async throws {
        try await StoreFixture.withStore { fixture in
            await #expect { try await fixture.openAgain { $0.budget = budget } } throws: {
                ($0 as? AvatarStoreError)?.code == .invalidConfiguration
            }
            let kept = try fixture.store.value(of: .budget)
            #expect(kept == 268_435_456)
        }
    }

    // MARK: Parameters of the initialisers

    @Test func initialisersSetTheirProperties() {
        let configuration = AvatarStore.Configuration(directory: "/var/lib/contacts/avatars")
        let fetch = FetchOptions(mode: .strict, priority: .high, lowDataURL: "https://example.org/s", budgetCeiling: 9)
        let sync = SyncOptions(policy: .reload, limit: 4, prunes: true, emailRecheck: .seconds(1))

        #expect(configuration.layout.cachesRoot.hasPrefix("/var/lib/contacts/avatars/"))
        #expect(
            configuration.access == .readWrite && configuration.budget == nil && configuration.mode == .offlineFirst
        )
        #expect(configuration.timeout == .seconds(60))
        #expect(configuration.connections == 256 && configuration.connectionsPerHost == nil)
        #expect(configuration.fileMode == 0o600 && !configuration.isConstrained())
        #expect(fetch.policy == .cacheFirst && fetch.mode == .strict && fetch.priority == .high)
        #expect(fetch.lowDataURL == "https://example.org/s" && fetch.budgetCeiling == 9 && fetch.timeout == nil)
        #expect(sync.policy == .reload && sync.limit == 4 && sync.prunes)
        #expect(sync.emailRecheck == .seconds(1) && sync.connections == nil && sync.storage == .caches)
    }
}
