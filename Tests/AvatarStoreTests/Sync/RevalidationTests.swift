import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Revalidations run as calls, not as tasks: they must end in all the same ways.
@Suite(.timeLimit(.minutes(5)))
struct RevalidationTests {
    @Test("a revalidation without a response ends at its timeout, and the image stays")
    func unansweredRevalidationTimesOut() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await storedImage(fixture)
            fixture.origin.setResponse(.hang, for: "/a.png")
            var options = all
            options.timeout = .milliseconds(300)

            let report = try await fixture.store.sync(options: options)

            #expect(report.failed == 1)
            #expect(report.failures.map(\.kind) == [.timeout])
            #expect(report.requests == 1)
            #expect(try fixture.store.storedAvatar(for: url) != nil)
        }
    }

    @Test("a cancelled sync does not wait for responses, and reports no failure for them")
    func cancelledSyncLeavesRevalidationsAlone() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await storedImage(fixture)
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(.status(304).held(by: gate), for: "/a.png")
            fixture.origin.resetCounts()
            var patient = all
            patient.timeout = .seconds(600)
            let sync = Task { [store = fixture.store, patient] in try await store.sync(options: patient) }
            try await fixture.origin.waitForRequests()

            sync.cancel()
            let report = try await sync.value

            #expect(report.wasCancelled)
            #expect(report.failed == 0)
            #expect(report.skipped == 1)
            gate.open()
            // Its slot and its lease are free again.
            fixture.origin.setResponse(.status(304), for: "/a.png")
            #expect(try await fixture.store.sync(options: all).notModified == 1)
        }
    }

    @Test("a sync at its time limit does not wait for responses")
    func timeLimitEndsRevalidations() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await storedImage(fixture)
            fixture.origin.setResponse(.hang, for: "/a.png")
            var options = all
            options.timeLimit = .milliseconds(300)

            let report = try await fixture.store.sync(options: options)

            #expect(report.ranOutOfTime)
            #expect(report.failed == 0)
        }
    }

    @Test("an image whose file is deleted during its revalidation is fetched again")
    func fileThatGoesMeanwhileIsFetchedAgain() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await storedImage(fixture)
            let file = try #require(try fixture.store.localFile(for: AvatarKey(url: url), recordsAccess: false))
            let gate = LoopbackOrigin.Gate()
            fixture.origin.setResponse(for: "/a.png") { request in
                guard request.headers["If-None-Match"] != nil else { return .image(SampleImage.gif(seed: 1)) }
                return .status(304).held(by: gate)
            }
            fixture.origin.resetCounts()
            let sync = Task { [store = fixture.store, all] in try await store.sync(options: all) }
            try await fixture.origin.waitForRequests()

            try FileManager.default.removeItem(atPath: file)
            gate.open()
            let report = try await sync.value

            #expect(report.fetched == 1)
            #expect(report.requests == 2)
            #expect(try fixture.store.storedAvatar(for: url)?.bytes == SampleImage.gif(seed: 1))
        }
    }

    @Test("any other response than a 304 is handled, and releases its connection")
    func otherAnswersAreFollowedUp() async throws {
        try await StoreFixture.withStore { fixture in
            let contacts = Self.answers.keys.sorted().map { Contact(id: $0, avatarURL: fixture.origin.url("/\($0)")) }
            for contact in contacts { fixture.serve(SampleImage.gif(seed: 1), at: "/\(contact.id)", etag: "\"1\"") }
            _ = try await fixture.store.sync(contacts: contacts)
            for (name, answer) in Self.answers { fixture.origin.setResponse(answer, for: "/\(name)") }
            fixture.origin.setResponse(.image(SampleImage.gif(seed: 3), etag: "\"3\""), for: "/elsewhere")
            var options = all
            options.policy = .revalidate
            options.connectionsPerHost = 1

            for round in 1...3 {
                fixture.origin.resetCounts()
                fixture.clock.advance(by: .seconds(8 * 86_400))
                let report = try await fixture.store.sync(contacts: contacts, options: options)

                #expect(report.changed == (round == 1 ? 2 : 0))
                #expect(Set(report.failures.map(\.kind)) == [.gone, .serverError, .notImage, .truncated, .unreachable])
                // A host that fails this often is paused.
                #expect(report.notModified + report.fetched + report.failed + report.skipped == contacts.count)
                #expect(report.requests == fixture.origin.requestCount)
            }
            let moved = try #require(try fixture.store.storedAvatar(for: fixture.origin.url("/moved")))
            #expect(moved.bytes == SampleImage.gif(seed: 3))
        }
    }

    private static let answers: [String: LoopbackOrigin.Response] = [
        "same": .status(304),
        "changed": .image(SampleImage.gif(seed: 2), etag: "\"2\""),
        "moved": .redirect(to: "/elsewhere"),
        "gone": .status(404),
        "broken": .status(500),
        "text": .image(Array("no image".utf8)),
        "cut": .image(SampleImage.gif(seed: 4)).behaving(.cutShort(after: 20)),
        "closed": .closed,
    ]

    private var all: SyncOptions {
        var options = SyncOptions()
        options.checksAll = true
        return options
    }

    private func storedImage(_ fixture: StoreFixture) async throws -> String {
        fixture.serve(SampleImage.gif(seed: 1), at: "/a.png", etag: "\"1\"")
        let url = fixture.origin.url("/a.png")
        _ = try await fixture.store.sync(contacts: [Contact(id: "a", avatarURL: url)])
        return url
    }
}
