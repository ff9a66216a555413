import AvatarStore
import AvatarStoreTesting
import Testing

/// Every kind of failure meets an entry in every state, in a sync. The stored image stays, and the entry keeps the
/// reason and the time of the next attempt.
@Suite(.timeLimit(.minutes(5)))
struct FailureTableTests {
    /// The entry before the sync.
    enum Before: String, CaseIterable, Sendable {
        case fresh, stale, failing, absent
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let failing: LastGoodImageTests.Case
        let before: Before
        var testDescription: String { "\(failing.testDescription), \(before.rawValue) before" }
    }

    static let cases = LastGoodImageTests.cases.flatMap { failing in
        Before.allCases.map { Case(failing: failing, before: $0) }
    }

    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test(arguments: cases)
    func nothingIsLost_andTheNextCheckIsPlanned(_ failing: Case) async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await prepare(failing.before, fixture)
            let key = try AvatarKey(url: url)
            fixture.origin.setResponse(failing.failing.response, for: "/ada.png")
            let now = fixture.clock.now()
            var options = SyncOptions()
            options.policy = .reload

            let report = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)], options: options)

            #expect(report.failed == 1 && report.wanted == 1 && report.changed == 0)
            #expect(report.failures.map(\.kind) == [failing.failing.kind])
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == (failing.before == .absent ? nil : face))
            let details = try #require(try fixture.store.details(for: key))
            #expect(details.overview.state == (failing.failing.kind == .gone ? .gone : .failing))
            #expect(details.failure == failing.failing.kind)
            let next = try #require(details.nextCheck)
            #expect(wait(failing).contains(next.seconds(since: now)), "\(next.seconds(since: now)) s")
            #expect(!details.reasons.isEmpty)
            try fixture.expectConsistent()
        }
    }

    private func prepare(_ before: Before, _ fixture: StoreFixture) async throws -> String {
        let url = fixture.serve(face, at: "/ada.png", etag: "\"1\"", cacheControl: "max-age=3600")
        guard before != .absent else { return url }
        _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
        if before == .fresh { return url }
        fixture.clock.advance(by: .seconds(8000))
        if before == .failing {
            // An interrupted response, because it does not affect the health of the host.
            let cut = LoopbackOrigin.Response.image(Array(face.dropLast(20)), etag: nil)
            fixture.origin.setResponse(cut, for: "/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            fixture.clock.advance(by: .seconds(200))
        }
        return url
    }

    /// The first wait of the kind, doubled for the second failure in a row; between half and all of that.
    private func wait(_ failing: Case) -> ClosedRange<Int64> {
        let first: Int64 =
            switch failing.failing.kind {
            case .gone, .refused, .unsupportedURL: 86_400
            case .notImage, .unexpectedStatus, .tooManyRedirects: 3600
            case .rateLimited, .serverError: 600
            default: 120
            }
        let isSecond = failing.before == .failing && failing.failing.kind != .gone
        let full = isSecond ? 2 * first : first
        return full / 2...full
    }
}
