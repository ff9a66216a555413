import AvatarStore
import AvatarStoreTesting
import Testing

/// A sync as a sequence of events.
@Suite(.timeLimit(.minutes(5)))
struct SyncEventsTests {
    private func people(_ count: Int, _ fixture: StoreFixture) -> [Contact] {
        (0..<count).map { number in
            let bytes = SampleImage.png(seed: UInt64(number), byteCount: 800)
            return Contact(id: "\(number)", avatarURL: fixture.serve(bytes, at: "/\(number).png", etag: "\"1\""))
        }
    }

    @Test func eachImageHasOneEvent_andTheReportComesLast() async throws {
        try await StoreFixture.withStore { fixture in
            var contacts = people(300, fixture)
            fixture.origin.setResponse(.status(404), for: "/gone.png")
            contacts.append(Contact(id: "gone", avatarURL: fixture.origin.url("/gone.png")))
            var stored: Set<AvatarKey> = []
            var failed: [AvatarKey] = []
            var last: SyncReport?

            for try await event in fixture.store.syncEvents(.contacts(contacts)) {
                #expect(last == nil)
                switch event {
                case .image(let key, .stored(isChanged: false)):
                    #expect(stored.insert(key).inserted)
                    #expect(try fixture.store.storedAvatar(for: key) != nil)
                case .image(let key, .failed(let failure)) where failure.kind == .gone: failed.append(key)
                case .image(_, let outcome): Issue.record("\(outcome)")
                case .progress(let progress): #expect(progress.done <= 301)
                case .finished(let report): last = report
                }
            }

            #expect(stored.count == 300)
            #expect(failed.map(\.rawValue) == [fixture.origin.url("/gone.png")])
            #expect(last?.fetched == 300)
            #expect(last?.failed == 1)
        }
    }

    @Test func endingTheIterationEndsTheSync_andAnotherCanRun() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(900, fixture)
            var options = SyncOptions()
            options.batchSize = 16
            for try await event in fixture.store.syncEvents(.contacts(contacts), options: options) {
                if case .image = event { break }
            }

            // The abandoned sync ends by itself; until then the store has a running sync.
            var report: SyncReport?
            try await waitUntil(every: .milliseconds(20)) {
                do {
                    report = try await fixture.store.sync(contacts: contacts)
                    return true
                } catch let error as AvatarStoreError where error.code == .syncIsRunning {
                    return false
                }
            }

            let done = try #require(report)
            #expect(done.fetched + done.fresh == 900)
            #expect(done.fresh > 0 && done.fetched > 0)
            try fixture.expectConsistent()
        }
    }

    @Test func theSequenceThrowsTheErrorsOfTheSync() async throws {
        try await StoreFixture.withStore { fixture in
            var options = SyncOptions()
            options.connections = 0
            await #expect(throws: AvatarStoreError.self) {
                for try await _ in fixture.store.syncEvents(.contacts([]), options: options) {}
            }
        }
    }
}
