import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

/// A host that keeps failing is paused, then probed with one request; other hosts are not affected.
@Suite(.timeLimit(.minutes(5)))
struct HostRestTests {
    private func people(_ count: Int, _ fixture: StoreFixture) -> [Contact] {
        (0..<count).map { number in
            let bytes = SampleImage.png(seed: UInt64(number), byteCount: 800)
            return Contact(id: "\(number)", avatarURL: fixture.serve(bytes, at: "/\(number).png"))
        }
    }

    private func fail(_ count: Int, _ fixture: StoreFixture) {
        for number in 0..<count { fixture.origin.setResponse(.status(500), for: "/\(number).png") }
    }

    @Test func afterFiveFailuresTheHostIsPaused_thenProbedOnce() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(60, fixture)
            fail(60, fixture)
            var options = SyncOptions()
            options.connectionsPerHost = 2

            let first = try await fixture.store.sync(contacts: contacts, options: options)
            #expect((5...8).contains(first.failed) && first.skipped == 60 - first.failed)

            fixture.origin.resetCounts()
            let resting = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(resting.skipped == 60 && fixture.origin.requestCount == 0)

            // The pause is over; the first request fails, so there is no second one.
            fixture.clock.advance(by: .seconds(61))
            let probing = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(probing.failed == 1 && fixture.origin.requestCount == 1)

            _ = people(60, fixture)
            fixture.clock.advance(by: .seconds(3600))
            let healed = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(healed.fetched == 60 && healed.failed == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func aPauseIsKeptAcrossProcesses_andReported() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(20, fixture)
            fail(20, fixture)
            let report = try await fixture.store.sync(contacts: contacts)
            let key = try AvatarKey(url: #require(report.failures.first?.key))
            let again = try await fixture.openAgain()
            fixture.origin.resetCounts()

            let resting = try await again.sync(contacts: contacts)

            #expect(resting.skipped == 20 && fixture.origin.requestCount == 0)
            let reasons = try #require(try again.details(for: key)).reasons
            #expect(
                reasons.contains { $0.contains("in a row (serverError)") && $0.contains("paused") },
                "\(reasons)"
            )
            try await again.close()
        }
    }

    @Test func aReadOfOneImageMayProbeAPausedHost() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(20, fixture)
            fail(20, fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            _ = people(20, fixture)

            let image = try await fixture.store.avatar(for: fixture.origin.url("/3.png"))

            #expect(image.source == .origin)
            // Its response shows that the host is back.
            let report = try await fixture.store.sync(contacts: contacts)
            #expect(report.skipped < 20 && report.failed == 0 && report.fetched > 0)
        }
    }

    @Test("a sync may ask paused hosts, and keeps to their Retry-After", arguments: [true, false])
    func ignoringPauses(reload: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(60, fixture)
            fail(60, fixture)
            var options = SyncOptions()
            options.connectionsPerHost = 1
            _ = try await fixture.store.sync(contacts: contacts, options: options)
            let paused = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(paused.outcome == .complete)
            #expect(paused.skippedBy.hostPaused == 60)
            let pause = try #require(paused.skippedBy.pausedHosts.values.first)
            #expect(paused.skippedBy.pausedHosts.count == 1)
            #expect(pause.images == 60 && !pause.isRetryAfter && pause.until > fixture.clock.now())

            if reload { options.policy = .reload } else { options.ignoresPauses = true }
            fixture.origin.resetCounts()
            let failing = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(failing.failed == 1 && fixture.origin.requestCount == 1)
            #expect(failing.skippedBy.hostPaused == 59)

            _ = people(60, fixture)
            let preview = try await fixture.store.syncPreview(.records(AsyncRecords(contacts)), options: options)
            #expect(preview.toFetch == 60)
            fixture.origin.setResponse(.status(429, headers: ["Retry-After": "1000"]), for: "/0.png")
            let asked = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(asked.failed == 1 && asked.skippedBy.hostPaused == 59)
            fixture.origin.resetCounts()
            let kept = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(kept.skippedBy.hostPaused == 60 && fixture.origin.requestCount == 0)
            #expect(kept.skippedBy.pausedHosts.values.first?.isRetryAfter == true)

            fixture.clock.advance(by: .seconds(1001))
            _ = people(60, fixture)
            #expect(try await fixture.store.sync(contacts: contacts, options: options).fetched == 60)
        }
    }

    @Test("the counts by reason add up to what is skipped, without a list too")
    func reasonsAddUp() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(60, fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            fixture.clock.advance(by: .seconds(100_000))
            fail(60, fixture)
            var options = SyncOptions()
            options.connectionsPerHost = 1
            let first = try await fixture.store.sync(options: options)
            let second = try await fixture.store.sync(options: options)
            var ignoring = options
            ignoring.ignoresPauses = true
            let third = try await fixture.store.sync(options: ignoring)

            #expect(first.failed == 5 && first.skippedBy.hostPaused == 55 && first.outcome == .incomplete)
            #expect(second.skippedBy.hostPaused == 55 && second.outcome == .complete)
            #expect(third.failed == 1 && third.skippedBy.hostPaused == 54)
            #expect(try fixture.store.statistics().lastSync?.outcome == .incomplete)
            #expect(try fixture.store.statistics().neverHad == 0)
            #expect(try fixture.store.statistics().failures == [.serverError: 6])
        }
    }

    @Test(arguments: [true, false])
    func whatIsBeyondTheLimitIsCounted_andNotRead(all: Bool) async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: people(600, fixture))
            if !all { fixture.clock.advance(by: .seconds(100_000)) }
            var options = SyncOptions()
            options.checksAll = all
            options.policy = all ? .reload : .revalidate
            options.limit = 3

            let report = try await fixture.store.sync(options: options)

            #expect(report.fetched + report.notModified == 3)
            #expect(report.skipped == 597)
            #expect(report.wanted == 600)
        }
    }

    @Test func aSyncKeepsToItsLimits() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(200, fixture)
            var options = SyncOptions()
            options.connections = 2
            options.maximumBytes = 20_000
            let metered = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(metered.bytesReceived >= 20_000 && metered.bytesReceived < 25_000)
            #expect(metered.skipped == 200 - metered.fetched)

            for number in 0..<200 {
                let bytes = SampleImage.png(seed: UInt64(number), byteCount: 800)
                fixture.origin.setResponse(
                    .image(bytes, etag: nil).delayed(by: .milliseconds(50)),
                    for: "/\(number).png"
                )
            }
            options.maximumBytes = nil
            options.timeLimit = .seconds(2)
            let short = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(short.ranOutOfTime && !short.wasCancelled)
            #expect(short.fetched > 0 && short.skipped > 0)
            #expect(short.wanted == 200)

            options.timeLimit = nil
            options.hostTimeLimit = .zero
            let none = try await fixture.store.sync(contacts: contacts, options: options)
            #expect(none.fetched <= 2 && none.wanted == 200)
            try fixture.expectConsistent()
        }
    }
}

/// Contacts as the records of a list.
private struct AsyncRecords: AsyncSequence, Sendable {
    typealias Element = ContactRecord
    private let contacts: [Contact]

    init(_ contacts: [Contact]) {
        self.contacts = contacts
    }

    func makeAsyncIterator() -> AsyncStream<ContactRecord>.Iterator {
        AsyncStream { continuation in
            for contact in contacts { continuation.yield(.contact(contact)) }
            continuation.finish()
        }.makeAsyncIterator()
    }
}
