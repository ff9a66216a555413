import AvatarStore
import AvatarStoreTesting
import Testing

/// The writes of a sync in which hardly anything changed.
@Suite(.timeLimit(.minutes(5)))
struct UnchangedImagesTests {
    private static let hosts = 20
    private static let perHost = 25

    @Test("only changed images are written, and no body is sent for the others")
    func writtenFilesAreTheChangedImages() async throws {
        try await StoreFixture.withStore { fixture in
            let origins = try await startOrigins(Self.hosts)
            for number in 0..<Self.hosts * Self.perHost { serve(number, version: 1, origins) }
            _ = try await fixture.store.sync(contacts: contacts(origins, Self.perHost))
            let before = fixture.files(in: .caches)
            // Two of a hundred images change.
            let changed = stride(from: 0, to: Self.hosts * Self.perHost, by: 50)
            for number in changed { serve(number, version: 2, origins) }
            for origin in origins { origin.resetCounts() }
            fixture.clock.advance(by: .seconds(60))

            let report = try await fixture.store.sync(contacts: contacts(origins, Self.perHost))

            let after = fixture.files(in: .caches)
            // A name is never used again, so a written file has a new one.
            #expect(after.keys.filter { before[$0] == nil }.count == changed.underestimatedCount)
            #expect(before.keys.filter { after[$0] == nil }.count == changed.underestimatedCount)
            #expect(report.changed == changed.underestimatedCount)
            #expect(report.notModified == Self.hosts * Self.perHost - report.changed)
            #expect(report.bytesReceived == origins.reduce(0) { $0 + $1.bytesSent })
            #expect(report.bytesReceived == changed.underestimatedCount * 700)
            for origin in origins { try await origin.stop() }
        }
    }

    @Test("each of many hosts has its turn before one has a second")
    func hostsTakeTurnsOverPages() async throws {
        try await StoreFixture.withStore { fixture in
            let hosts = 40
            // As many as are requested at once.
            let turn = 8
            let origins = try await startOrigins(hosts)
            for number in 0..<hosts * 2 * turn { serve(number, version: 1, origins) }
            _ = try await fixture.store.sync(contacts: contacts(origins, 2 * turn))
            for origin in origins { origin.resetCounts() }
            fixture.clock.advance(by: .seconds(60))
            var options = SyncOptions()
            options.limit = hosts * turn

            _ = try await fixture.store.sync(options: options)

            #expect(origins.map(\.requestCount) == Array(repeating: turn, count: hosts))
            for origin in origins { try await origin.stop() }
        }
    }

    private func startOrigins(_ count: Int) async throws -> [LoopbackOrigin] {
        var origins: [LoopbackOrigin] = []
        for _ in 0..<count { origins.append(try await LoopbackOrigin.start()) }
        return origins
    }

    private func serve(_ number: Int, version: UInt64, _ origins: [LoopbackOrigin]) {
        let bytes = SampleImage.png(seed: UInt64(number) + version * 1_000_000, byteCount: 700)
        let answer = LoopbackOrigin.Response.image(bytes, etag: "\"\(version)\"", cacheControl: "max-age=1")
        origins[number % origins.count].setResponse(answer, for: "/\(number).png")
    }

    private func contacts(_ origins: [LoopbackOrigin], _ perHost: Int) -> [Contact] {
        (0..<origins.count * perHost).map { number in
            Contact(id: "p\(number)", avatarURL: origins[number % origins.count].url("/\(number).png"))
        }
    }
}
