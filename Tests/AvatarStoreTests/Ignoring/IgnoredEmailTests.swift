import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Testing

/// E-mail sources of contacts with an ignored image.
@Suite(.timeLimit(.minutes(5))) struct IgnoredEmailTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.png(seed: 3, byteCount: 5000)
    private let silhouette = SampleImage.png(seed: 2, byteCount: 3000)
    private var digest: String { Hexadecimal.text(ContentDigest.sha256(silhouette)) }

    /// A store that ignores the silhouette, two sources on its origin, and Ada, whose URL returns the silhouette.
    private func withSources(_ body: (StoreFixture, [EmailSource], Contact) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let sources = try ["/first/", "/second/"].map { try EmailSource(baseURL: fixture.origin.url($0)) }
            let url = fixture.serve(silhouette, at: "/ada.png", etag: "\"s\"")
            try await fixture.store.ignore(digests: [digest])
            try await body(fixture, sources, Contact(id: "ada", avatarURL: url, emails: ["ada@example.org"]))
            try fixture.expectConsistent()
        }
    }

    private func sync(_ fixture: StoreFixture, _ sources: [EmailSource], _ contacts: Contact...) async throws
        -> SyncReport
    {
        var options = SyncOptions()
        options.emailSources = sources
        return try await fixture.store.sync(contacts: contacts, options: options)
    }

    /// The path of Ada's image at `source`.
    private func path(_ fixture: StoreFixture, _ source: EmailSource) -> String {
        let url = source.url(for: "ada@example.org") ?? ""
        return "/" + url.trimmingPrefix(fixture.origin.url("/")).prefix { $0 != "?" }
    }

    @Test func sourceFollowsAnIgnoredURL_andLaterAtOnce() async throws {
        try await withSources { fixture, sources, ada in
            fixture.serve(face, at: path(fixture, sources[0]), etag: "\"f\"")

            let first = try await sync(fixture, sources, ada)

            #expect(first.fetched == 2 && first.ignored == 1 && first.failed == 0 && first.requests == 2)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            let entries = try fixture.store.imageKeys(ofContact: "ada").count
            let second = try await sync(fixture, sources, ada)
            #expect(second.requests == 0 && second.failed == 0)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
            #expect(try fixture.store.imageKeys(ofContact: "ada").count == entries)
            // Both are revalidated.
            fixture.clock.advance(by: .seconds(7200))
            let third = try await sync(fixture, sources, ada)
            #expect(third.notModified == 2 && third.requests == 2 && third.bytesReceived == 0)
            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == face)
        }
    }

    @Test func anotherImageAtTheURLReplacesTheSources() async throws {
        try await withSources { fixture, sources, ada in
            fixture.serve(face, at: path(fixture, sources[0]))
            _ = try await sync(fixture, sources, ada)
            fixture.serve(other, at: "/ada.png", etag: "\"o\"")
            fixture.clock.advance(by: .seconds(7200))

            // Only the index determines which image comes first.
            _ = try await fixture.store.sync()

            #expect(try fixture.store.avatar(forContact: "ada")?.bytes == other)
            #expect(try fixture.store.imageKeys(ofContact: "ada").count == 1)
        }
    }

    @Test func nextSourceFollowsASourceWithAnIgnoredImage() async throws {
        try await withSources { fixture, sources, ada in
            fixture.serve(silhouette, at: path(fixture, sources[0]))
            fixture.serve(face, at: path(fixture, sources[1]))
            let withoutURL = Contact(id: "eve", emails: ["ada@example.org"])

            let report = try await sync(fixture, sources, ada, withoutURL)

            #expect(report.ignored == 2 && report.fetched == 3 && report.failed == 0)
            for contact in ["ada", "eve"] { #expect(try fixture.store.avatar(forContact: contact)?.bytes == face) }
            let again = try await sync(fixture, sources, ada, withoutURL)
            #expect(again.requests == 0 && again.failed == 0)
        }
    }

    @Test func contactWithoutAnyImageCountsAsWithoutImage() async throws {
        try await withSources { fixture, sources, ada in
            let report = try await sync(fixture, sources, ada)

            // Neither source has an image.
            #expect(report.ignored == 1 && report.withoutImage == 1 && report.failed == 0 && report.requests == 3)
            #expect(try fixture.store.avatar(forContact: "ada") == nil)
            #expect(try await sync(fixture, sources, ada).requests == 0)
        }
    }

    @Test func goneURLDoesNotLeadToTheSources() async throws {
        try await withSources { fixture, sources, ada in
            fixture.origin.setResponse(.status(404), for: "/ada.png")
            fixture.serve(face, at: path(fixture, sources[0]))

            let report = try await sync(fixture, sources, ada)

            #expect(report.requests == 1 && report.failed == 1)
        }
    }

    @Test func allContactsOfOneURLContinueWithTheSources() async throws {
        try await withSources { fixture, sources, ada in
            fixture.serve(face, at: path(fixture, sources[0]))
            var ben = ada
            ben.id = "ben"

            let report = try await sync(fixture, sources, ada, ben)

            #expect(report.ignored == 1 && report.fetched == 2 && report.contacts == 2)
            for contact in ["ada", "ben"] { #expect(try fixture.store.avatar(forContact: contact)?.bytes == face) }
        }
    }
}
