import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

/// A sync waits for a host that asks for fewer requests for a short time, then spaces its requests.
@Suite(.timeLimit(.minutes(5)))
struct PacedHostTests {
    private static let waitASecond = LoopbackOrigin.Response.status(429, headers: ["Retry-After": "1"])

    private func image(_ number: Int) -> LoopbackOrigin.Response {
        .image(SampleImage.png(seed: UInt64(number), byteCount: 800), cacheControl: "max-age=3600")
    }

    /// Contacts whose images `origin` serves, except for those requests to which `refuse` returns a response.
    private func people(
        _ count: Int,
        _ origin: LoopbackOrigin,
        refuse: @escaping @Sendable (_ number: Int) -> LoopbackOrigin.Response?
    ) -> [Contact] {
        (0..<count).map { number in
            let (path, image) = ("/\(number).png", image(number))
            origin.setResponse(for: path) { _ in refuse(number) ?? image }
            return Contact(id: "\(origin.port)-\(number)", avatarURL: origin.url(path))
        }
    }

    @Test(arguments: [429, 503])
    func hostIsWaitedFor_andTheImageRequestedAgain(status: Int) async throws {
        try await StoreFixture.withStore { fixture in
            let isRefused = Mutex(false)
            let contacts = people(20, fixture.origin) { number in
                guard number == 7 else { return nil }
                let isFirst = isRefused.withLock { isRefused in
                    defer { isRefused = true }
                    return !isRefused
                }
                return isFirst ? .status(status, headers: ["Retry-After": "1"]) : nil
            }

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.fetched == 20 && report.failed == 0 && report.skipped == 0)
            #expect(report.outcome == .complete)
            #expect(report.requests == 21 && fixture.origin.requestCount(for: "/7.png") == 2)
            #expect(report.duration >= .seconds(1))
            let host = try #require(report.details.slowedHosts["127.0.0.1:\(fixture.origin.port)"])
            #expect(host.refused == 1 && host.waited >= .milliseconds(990))
            // Nothing of it is left once the host has answered.
            fixture.clock.advance(by: .seconds(2))
            let next = try await fixture.store.sync(contacts: contacts, options: SyncOptions(checksAll: true))
            #expect(next.skipped == 0 && next.details.slowedHosts.isEmpty)
        }
    }

    @Test func waitIsNeverLongerThanTheSync() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(2, fixture.origin) { $0 == 1 ? .status(503) : nil }

            let report = try await fixture.store.sync(contacts: contacts, options: SyncOptions(connectionsPerHost: 1))

            let host = try #require(report.details.slowedHosts.values.first)
            #expect(report.fetched == 1 && report.failed == 1 && host.refused == 5)
            #expect(host.waited > .seconds(1) && host.waited <= report.duration, "\(host.waited), \(report.duration)")
        }
    }

    /// nginx's `limit_req` names no time.
    @Test func limitWithoutRetryAfterIsKept_onceTheHostHasAnswered() async throws {
        try await StoreFixture.withStore { fixture in
            let bucket = Mutex((tokens: 10.0, last: ContinuousClock.now))
            let contacts = people(120, fixture.origin) { _ in
                bucket.withLock { bucket in
                    let now = ContinuousClock.now
                    bucket.tokens = min(10, bucket.tokens + (now - bucket.last) / .seconds(1) * 50)
                    bucket.last = now
                    guard bucket.tokens >= 1 else { return .status(503) }
                    bucket.tokens -= 1
                    return nil
                }
            }

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.fetched == 120 && report.failed == 0)
            #expect(report.requests == fixture.origin.requestCount)
            #expect(report.details.slowedHosts.values.first?.refused == report.requests - 120)
            try fixture.expectConsistent()
        }
    }

    @Test func otherHostsGoOn() async throws {
        let other = try await LoopbackOrigin.start(host: "127.0.0.2")
        try await StoreFixture.withStore { fixture in
            // A pause in which even a busy machine requests the images of the other host.
            let answered = Mutex<ContinuousClock.Instant?>(nil)
            let slow = people(1, fixture.origin) { _ in
                answered.withLock { answered in
                    defer { answered = answered ?? .now }
                    return answered == nil ? .status(429, headers: ["Retry-After": "8"]) : nil
                }
            }
            let last = Mutex(ContinuousClock.now)
            let fast = people(300, other) { _ in
                last.withLock { $0 = .now }
                return nil
            }

            let report = try await fixture.store.sync(contacts: slow + fast)

            #expect(report.fetched == 301 && report.duration >= .seconds(8))
            let refused = try #require(answered.withLock { $0 })
            #expect(last.withLock { $0 } < refused.advanced(by: .seconds(8)))
            #expect(report.details.slowedHosts.count == 1)
        }
        try await other.stop()
    }

    @Test func syncThatIsCancelledWhileItWaitsLeavesThePause() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(30, fixture.origin) { _ in .status(429, headers: ["Retry-After": "50"]) }
            let isWaiting = Mutex(false)
            let sync = Task { [store = fixture.store] in
                try await store.sync(contacts: contacts, options: SyncOptions(connectionsPerHost: 1)) { progress in
                    if !progress.report.details.slowedHosts.isEmpty { isWaiting.withLock { $0 = true } }
                }
            }
            try await waitUntil { isWaiting.withLock { $0 } }
            sync.cancel()

            let report = try await sync.value
            #expect(report.wasCancelled && report.duration < .seconds(20))
            #expect(report.failed == 0 && report.skippedBy.interrupted == 30)
            #expect(fixture.origin.requestCount == 1)
            let next = try await fixture.store.sync(contacts: contacts)
            #expect(next.skippedBy.hostPaused == 30 && fixture.origin.requestCount == 1)
            try fixture.expectConsistent()
        }
    }

    /// A wait that does not fit into the time limit would be in vain.
    @Test func timeLimitShortensThePatience() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(30, fixture.origin) { _ in .status(429, headers: ["Retry-After": "50"]) }
            let options = SyncOptions(connectionsPerHost: 1, timeLimit: .seconds(30))

            let report = try await fixture.store.sync(contacts: contacts, options: options)

            #expect(report.failed == 1 && report.skippedBy.hostPaused == 29)
            #expect(!report.ranOutOfTime && report.duration < .seconds(20))
            #expect(report.details.slowedHosts.isEmpty)
        }
    }

    @Test func timeLimitEndsAWait() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(30, fixture.origin) { _ in Self.waitASecond }
            let options = SyncOptions(connectionsPerHost: 1, timeLimit: .seconds(5))

            let report = try await fixture.store.sync(contacts: contacts, options: options)

            #expect(report.fetched == 0 && report.wanted == 30)
            #expect(report.duration < .seconds(30))
            let next = try await fixture.store.sync(contacts: contacts)
            #expect(next.skippedBy.hostPaused + next.skippedBy.backoff == 30)
        }
    }

    /// Some servers answer 503 for single images. They fail, and the others arrive.
    @Test func imageThatIsRefusedForeverFailsAlone() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = people(60, fixture.origin) { $0 == 5 ? .status(503) : nil }

            let report = try await fixture.store.sync(contacts: contacts)

            #expect(report.fetched == 59 && report.failed == 1)
            #expect(report.failures.map(\.kind) == [.serverError])
            #expect(fixture.origin.requestCount(for: "/5.png") <= 5)
        }
    }
}
