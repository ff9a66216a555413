import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SyncTests {
    /// `count` contacts, each with a different image of 1,000 bytes.
    private func people(_ count: Int, _ fixture: StoreFixture) -> [Contact] {
        (0..<count).map { number in
            let bytes = SampleImage.png(seed: UInt64(number), byteCount: 1000)
            let url = fixture.serve(bytes, at: "/\(number).png", etag: "\"\(number)\"")
            return Contact(id: "p\(number)", avatarURL: url)
        }
    }

    @Test func aFirstSyncStoresEverything_theNextSendsNoRequest() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(600, fixture)

            let cold = try await fixture.store.sync(contacts: contacts)
            #expect(cold.fetched == 600)
            #expect(cold.wanted == 600)
            #expect(cold.requests == 600)
            #expect(cold.bytesReceived == 600_000)

            let warm = try await fixture.store.sync(contacts: contacts)
            #expect(warm.fresh == 600)
            #expect(warm.requests == 0)
            #expect(fixture.origin.requestCount == 600)
            #expect(try fixture.store.list().items.allSatisfy { $0.contacts.count == 1 })
            try fixture.expectConsistent()
        }
    }

    @Test func includingFreshImagesRevalidatesThem_andWritesNoFile() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(300, fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            let files = fixture.files(in: .caches)
            var options = SyncOptions()
            options.checksAll = true

            let report = try await fixture.store.sync(contacts: contacts, options: options)

            #expect(report.notModified == 300)
            #expect(report.bytesReceived == 0)
            #expect(fixture.files(in: .caches) == files)
        }
    }

    @Test func syncWithoutAListRevalidatesWhatIsDue() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(300, fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            fixture.clock.advance(by: .seconds(10))
            #expect(try await fixture.store.sync().wanted == 0)
            fixture.clock.advance(by: .seconds(4000))
            fixture.serve(SampleImage.png(seed: 9999, byteCount: 1200), at: "/7.png", etag: "\"new\"")

            let report = try await fixture.store.sync()

            #expect(report.notModified == 299)
            #expect(report.fetched == 1)
            #expect(report.changed == 1)
            #expect(try fixture.store.storedAvatar(for: contacts[7].avatarURL ?? "")?.bytes.count == 1200)
            #expect(try await fixture.store.sync().wanted == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func theCountsAddUp_whateverTheListHolds() async throws {
        try await StoreFixture.withStore { fixture in
            var contacts = people(10, fixture)
            fixture.origin.setResponse(.status(500), for: "/broken.png")
            contacts.append(Contact(id: "broken", avatarURL: fixture.origin.url("/broken.png")))
            contacts.append(Contact(id: "gone", avatarURL: fixture.origin.url("/nobody.png")))
            contacts.append(Contact(id: "ftp", avatarURL: "ftp://example.org/a.png"))
            contacts.append(Contact(id: "plain"))
            contacts.append(Contact(id: "again", avatarURL: contacts[3].avatarURL))

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.contacts == 15)
            #expect(report.withoutImage == 1)
            #expect(report.wanted == 13)
            #expect(report.fetched == 10)
            #expect(report.failed == 3)
            #expect(Set(report.failures.map(\.kind)) == [.serverError, .gone, .unsupportedURL])
            let shared = try fixture.store.details(for: AvatarKey(url: contacts[3].avatarURL ?? ""))
            #expect(shared?.overview.contacts == ["again", "p3"])

            // Neither the failures nor the rest is requested again now.
            let second = try await fixture.store.sync(contacts: contacts)
            #expect(second.requests == 0)
            #expect(second.skipped == 2)
            #expect(second.fresh == 10)
        }
    }

    @Test func emptiedCachesDirectoryHeals() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(50, fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            for path in fixture.files(in: .caches).keys { try removeFile(fixture.directory + "/caches/" + path) }

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.fetched == 50)
            #expect(fixture.files(in: .caches).count == 50)
            try fixture.expectConsistent()
        }
    }

    @Test func listLargerThanTheBudgetStopsFetching_andDoesNotThrash() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 100_000)
            let contacts = people(400, fixture)

            let first = try await fixture.store.sync(contacts: contacts)
            #expect(first.fetched == 100)
            #expect(first.overBudget == 300)
            #expect(first.evicted == 0)
            #expect(try fixture.store.statistics().cachesBytes == 100_000)

            let second = try await fixture.store.sync(contacts: contacts)
            #expect(second.fresh == 100)
            #expect(second.overBudget == 300)
            #expect(second.requests == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func aSyncEvictsOnlyUnwantedImages() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.budget, to: 50_000)
            let everybody = people(80, fixture)
            _ = try await fixture.store.sync(contacts: Array(everybody[..<50]))
            fixture.clock.advance(by: .seconds(1))

            let report = try await fixture.store.sync(contacts: Array(everybody[40...]))

            #expect(report.fresh == 10)
            #expect(report.fetched == 30)
            #expect(report.evicted >= 30)
            for contact in everybody[40...] {
                #expect(try fixture.store.storedAvatar(for: contact.avatarURL ?? "") != nil)
            }
            try fixture.expectConsistent()
        }
    }

    @Test func aSlowHostDoesNotDelayOthers() async throws {
        let slow = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await StoreFixture.withStore {
            $0.http.idleTimeoutSeconds = 600
        } _: { fixture in
            let contacts = people(200, fixture)
            var slowContacts: [Contact] = []
            for number in 0..<100 {
                slow.setResponse(.hang, for: "/\(number).png")
                slowContacts.append(Contact(id: "s\(number)", avatarURL: slow.url("/\(number).png")))
            }
            var options = SyncOptions()
            options.timeout = .seconds(600)
            let (fetched, continuation) = AsyncStream.makeStream(of: Int.self)
            let sync = Task { [options] in
                try await fixture.store.sync(contacts: slowContacts + contacts, options: options) {
                    continuation.yield($0.report.fetched)
                }
            }
            _ = await fetched.first { $0 == 200 }

            sync.cancel()
            let report = try await sync.value

            #expect(report.wasCancelled)
            #expect(report.fetched == 200)
            #expect(report.skipped == 100)
            #expect(slow.requestCount == 6)
            try fixture.expectConsistent()
        }
        try await slow.stop()
    }

    @Test(arguments: [false, true])
    func progressOfASyncThatEndsEarlyDoesNotClaimTheRest(hasTimeLimit: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            for number in 0..<60 { fixture.origin.setResponse(.hang, for: "/\(number).png") }
            let contacts = (0..<60).map { Contact(id: "\($0)", avatarURL: fixture.origin.url("/\($0).png")) }
            var options = SyncOptions()
            if hasTimeLimit { options.timeLimit = .milliseconds(300) }
            let done = Mutex(-1)
            let sync = Task { [options] in
                try await fixture.store.sync(contacts: contacts, options: options) { progress in
                    done.withLock { $0 = progress.done }
                }
            }
            try await fixture.origin.waitForRequests()

            if !hasTimeLimit { sync.cancel() }
            let report = try await sync.value

            #expect(report.wasCancelled != hasTimeLimit && report.ranOutOfTime == hasTimeLimit)
            #expect(report.skipped + report.failed == 60)
            #expect(done.withLock(\.self) == report.failed)
        }
    }

    @Test func contactWhoseURLChangedLosesTheOldImageOnceTheNewOneIsThere() async throws {
        try await StoreFixture.withStore { fixture in
            var contacts = people(2, fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            let old = try AvatarKey(url: contacts[0].avatarURL ?? "")
            contacts[0].avatarURL = fixture.origin.url("/later.png")
            _ = try await fixture.store.sync(contacts: contacts)
            #expect(try fixture.store.details(for: old)?.overview.contacts == ["p0"])

            fixture.serve(SampleImage.png(seed: 77, byteCount: 1000), at: "/later.png")
            fixture.clock.advance(by: .seconds(200_000))
            _ = try await fixture.store.sync(contacts: contacts)

            #expect(try fixture.store.details(for: old)?.overview.contacts == [])
            let new = try AvatarKey(url: contacts[0].avatarURL ?? "")
            #expect(try fixture.store.details(for: new)?.overview.contacts == ["p0"])
        }
    }

    @Test func secondSyncAtTheSameTimeIsRefused() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(.hang, for: "/slow.png")
            let contacts = [Contact(id: "a", avatarURL: fixture.origin.url("/slow.png"))]
            let other = try await fixture.openAgain()
            let running = Task { try await fixture.store.sync(contacts: contacts) }
            try await fixture.origin.waitForRequests()

            for store in [fixture.store, other] {
                await #expect { try await store.sync(contacts: []) } throws: {
                    ($0 as? AvatarStoreError)?.code == .syncIsRunning
                }
            }
            running.cancel()
            _ = try await running.value
            _ = try await other.sync(contacts: [])
            try await other.close()
        }
    }

    @Test func imagesThatAreBeingReadAreNotFetchedTwice() async throws {
        try await StoreFixture.withStore { fixture in
            let bytes = SampleImage.png(seed: 5, byteCount: 1000)
            fixture.origin.setResponse(.image(bytes, etag: nil).delayed(by: .seconds(1)), for: "/a.png")
            let url = fixture.origin.url("/a.png")
            let reading = Task { try await fixture.store.avatar(for: url) }
            try await fixture.origin.waitForRequests()

            let report = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)])

            #expect(report.fetched == 1)
            #expect(try await reading.value.bytes == bytes)
            #expect(fixture.origin.requestCount == 1)
            #expect(try fixture.store.list().items.map(\.contacts) == [["a"]])
        }
    }

    @Test func dryRunSendsNothingAndChangesNothing() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(5, fixture)
            _ = try await fixture.store.sync(contacts: Array(contacts[..<2]))
            fixture.origin.resetCounts()
            let records = AsyncStream(ContactRecord.self) { stream in
                for contact in contacts { stream.yield(.contact(contact)) }
                stream.finish()
            }

            let preview = try await fixture.store.syncPreview(.records(records))

            #expect(preview.fresh == 2)
            #expect(preview.toFetch == 3)
            #expect(fixture.origin.requestCount == 0)
        }
    }
}
