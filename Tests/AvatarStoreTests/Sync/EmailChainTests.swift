import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

/// Contacts without an image of their own, and sources that may have one for their addresses.
@Suite(.timeLimit(.minutes(5)))
struct EmailChainTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.png(seed: 2, byteCount: 4000)
    private let ada = Contact(id: "ada", emails: ["ada@example.org", "ada@home.example"])

    /// A store, and two empty sources on its origin.
    private func withSources(_ body: (Sources) async throws -> Void) async throws {
        try await StoreFixture.withStore { fixture in
            let first = try EmailSource(baseURL: fixture.origin.url("/first/"))
            let second = try EmailSource(baseURL: fixture.origin.url("/second/"))
            try await body(Sources(fixture: fixture, first: first, second: second))
            try fixture.expectConsistent()
        }
    }

    @Test func noSourceIsAskedUnlessTheSyncNamesOne() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@example.org", at: sources.first)

            let report = try await sources.fixture.store.sync(contacts: [ada])

            #expect(report.contacts == 1 && report.withoutImage == 1 && report.requests == 0)
            #expect(sources.fixture.origin.requestCount == 0)
        }
    }

    @Test func sourcesAreTriedInOrder_eachWithAllAddresses() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@home.example", at: sources.second)

            let report = try await sources.sync([ada])

            #expect(
                sources.asked == [
                    "first ada@example.org", "first ada@home.example",
                    "second ada@example.org", "second ada@home.example",
                ]
            )
            #expect(report.fetched == 1 && report.wanted == 1 && report.failed == 0 && report.withoutImage == 0)
            let image = try #require(try sources.fixture.store.avatar(forContact: "ada"))
            #expect(image.bytes == face && image.key.isEmailImage)
            #expect(try sources.fixture.store.changes().map(\.contacts) == [["ada"]])
        }
    }

    @Test func theFirstImageFoundEndsTheSearch() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@example.org", at: sources.first)
            sources.serve(other, for: "ada@example.org", at: sources.second)

            _ = try await sources.sync([ada])
            let again = try await sources.sync([ada])

            #expect(sources.asked == ["first ada@example.org"])
            #expect(again.fresh == 1 && again.requests == 0)
            #expect(try sources.fixture.store.avatar(forContact: "ada")?.bytes == face)
        }
    }

    @Test func aMissingImageIsRememberedAcrossRestarts_andIsNotAFailure() async throws {
        try await withSources { sources in
            let first = try await sources.sync([ada])
            #expect(first.requests == 4 && first.withoutImage == 1 && first.failed == 0 && first.failures.isEmpty)
            #expect(first.wanted == 0)
            sources.fixture.clock.advance(by: .seconds(6 * 86_400))

            let store = try await sources.fixture.openAgain()
            let second = try await store.sync(contacts: [ada], options: sources.options)
            let due = try await store.sync()
            var all = SyncOptions()
            all.checksAll = true
            let everything = try await store.sync(options: all)
            try await store.close()

            #expect(second.requests == 0 && second.withoutImage == 1)
            #expect(due.requests == 0 && due.failed == 0)
            #expect(everything.requests == 0 && everything.failed == 0)
            #expect(sources.fixture.origin.requestCount == 4)
        }
    }

    @Test func aImageThatAppearsIsFoundAfterThePeriod() async throws {
        try await withSources { sources in
            sources.serve(other, for: "ada@example.org", at: sources.second)
            _ = try await sources.sync([ada])
            sources.serve(face, for: "ada@example.org", at: sources.first)
            sources.fixture.clock.advance(by: .seconds(6 * 86_400))
            _ = try await sources.sync([ada])
            #expect(try sources.fixture.store.avatar(forContact: "ada")?.bytes == other)
            sources.fixture.clock.advance(by: .seconds(86_400))

            _ = try await sources.sync([ada])

            #expect(try sources.fixture.store.avatar(forContact: "ada")?.bytes == face)
            // No contact uses the second source's image any more, so it is removed.
            let hosts = try sources.fixture.store.imageKeys(ofContact: "ada").map(\.rawValue)
            #expect(hosts.count == 2 && hosts.allSatisfy { $0.contains("/first/") })
            #expect(try sources.fixture.store.list(AvatarListQuery()).items.count == 2)
        }
    }

    @Test func anEarlierSourceThatIsReachedLaterTakesThePlaceOfALaterOne() async throws {
        try await withSources { sources in
            sources.serve(other, for: "ada@example.org", at: sources.second)
            _ = try await sources.sync([ada])
            sources.fixture.clock.advance(by: .seconds(8 * 86_400))
            sources.fixture.origin.setResponse(.status(500), for: sources.path("ada@example.org", at: sources.first))
            _ = try await sources.sync([ada])
            #expect(try sources.fixture.store.avatar(forContact: "ada")?.bytes == other)
            sources.serve(face, for: "ada@example.org", at: sources.first)
            sources.fixture.clock.advance(by: .seconds(86_400))

            // The index names no contact there.
            _ = try await sources.fixture.store.sync()
            _ = try await sources.sync([ada])

            #expect(try sources.fixture.store.avatar(forContact: "ada")?.bytes == face)
            #expect(
                try !sources.fixture.store.imageKeys(ofContact: "ada").contains { $0.rawValue.contains("/second/") }
            )
        }
    }

    @Test func thePeriodCanBeSet() async throws {
        try await withSources { sources in
            _ = try await sources.sync([ada])
            sources.fixture.clock.advance(by: .seconds(60))
            var options = sources.options
            options.emailRecheck = .seconds(60)

            let report = try await sources.fixture.store.sync(contacts: [ada], options: options)

            #expect(report.requests == 4)
        }
    }

    @Test func aContactsOwnImageComesFirst() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@example.org", at: sources.first)
            sources.serve(face, for: "ben@example.org", at: sources.first)
            let url = sources.fixture.serve(other, at: "/own.png")
            let withURL = Contact(id: "ada", avatarURL: url, emails: ["ada@example.org"])
            let photo = ContactImage.photo(ContactPhoto(bytes: other))
            let withPhoto = Contact(id: "ben", emails: ["ben@example.org"], images: [photo])

            _ = try await sources.sync([withURL, withPhoto])

            #expect(sources.asked == [])
            #expect(sources.fixture.origin.requestCount == 1)
            for contact in ["ada", "ben"] {
                #expect(try sources.fixture.store.avatar(forContact: contact)?.bytes == other)
            }
        }
    }

    @Test func aContactsOwnImageReplacesTheOneFound() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@home.example", at: sources.first)
            let ben = Contact(id: "ben", emails: ["ben@example.org"])
            _ = try await sources.sync([ada, ben])
            let url = sources.fixture.serve(other, at: "/own.png")
            let withPhoto = Contact(id: "ben", emails: ben.emails, images: [.photo(ContactPhoto(bytes: other))])

            _ = try await sources.sync([Contact(id: "ada", avatarURL: url, emails: ada.emails), withPhoto])

            #expect(try sources.fixture.store.imageKeys(ofContact: "ada").map(\.rawValue) == [url])
            #expect(try sources.fixture.store.imageKeys(ofContact: "ben").map(\.rawValue) == ["contact:ben"])
            #expect(try sources.fixture.store.list(AvatarListQuery()).items.count == 2)
        }
    }

    @Test func anUnreachableSourceDoesNotCountAsNone() async throws {
        try await withSources { sources in
            sources.fixture.origin.setResponse(.status(500), for: sources.path("ada@example.org", at: sources.first))
            sources.serve(other, for: "ada@example.org", at: sources.second)

            let report = try await sources.sync([ada])

            #expect(Set(sources.asked) == ["first ada@example.org"])
            #expect(report.failed == 1 && report.failures.map(\.kind) == [.serverError])
            #expect(try sources.fixture.store.avatar(forContact: "ada") == nil)
        }
    }

    @Test func aImageThatIsGoneAtItsSourceStays() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@example.org", at: sources.first)
            _ = try await sources.sync([ada])
            sources.fixture.origin.removeResponse(for: sources.path("ada@example.org", at: sources.first))
            sources.fixture.clock.advance(by: .seconds(86_400))

            let report = try await sources.sync([ada])

            #expect(report.failures.map(\.kind) == [.gone])
            #expect(try sources.fixture.store.avatar(forContact: "ada")?.bytes == face)
        }
    }

    @Test func oneAddressOfManyIsAskedForOnce() async throws {
        try await withSources { sources in
            let team = (0..<600).map { Contact(id: "member-\($0)", emails: ["team@example.org"]) }
            let nobody = (0..<600).map { Contact(id: "nobody-\($0)", emails: ["nobody@example.org"]) }
            sources.serve(face, for: "team@example.org", at: sources.second)

            let report = try await sources.sync(zip(team, nobody).flatMap { [$0, $1] })

            #expect(sources.fixture.origin.requestCount == 4)
            #expect(report.contacts == 1200 && report.withoutImage == 600 && report.fetched == 1)
            let key = try #require(try sources.fixture.store.avatar(forContact: "member-599")?.key)
            #expect(try sources.fixture.store.contacts(using: key).count == 600)
            #expect(try sources.fixture.store.imageKeys(ofContact: "nobody-599").count == 2)
        }
    }

    @Test func progressCountsEachContactOnce() async throws {
        try await withSources { sources in
            let people = (0..<300).map { Contact(id: "\($0)", emails: ["\($0 % 200)@example.org"]) }
            for number in 0..<50 { sources.serve(face, for: "\(number)@example.org", at: sources.second) }
            let done = Mutex(0)

            let report = try await sources.fixture.store.sync(contacts: people, options: sources.options) { now in
                done.withLock { $0 = now.done }
            }

            #expect(done.withLock { $0 } == 300)
            #expect(report.fetched == 50 && report.withoutImage == 200)
            let unchanged = try await sources.sync(people)
            #expect(unchanged.fresh == 50 && unchanged.withoutImage == 200 && unchanged.requests == 0)
        }
    }

    @Test func removingAnAddressRemovesItsEntries() async throws {
        try await withSources { sources in
            _ = try await sources.sync([ada])
            #expect(try sources.fixture.store.imageKeys(ofContact: "ada").count == 4)

            _ = try await sources.sync([Contact(id: "ada", emails: ["ada@example.org"])])

            #expect(try sources.fixture.store.imageKeys(ofContact: "ada").count == 2)
            #expect(try sources.fixture.store.list(AvatarListQuery()).items.count == 2)
        }
    }

    @Test func erasingAContactLeavesNoDigestOfItsAddresses() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@home.example", at: sources.second)
            let ben = Contact(id: "ben", emails: ["ben@example.org"])
            _ = try await sources.sync([ada, ben])
            let digests = try ada.emails.map { try sources.digest($0) }
            for digest in digests { #expect(try sources.fixture.find(digest) != []) }

            let receipt = try await sources.fixture.store.remove(contact: "ada", erasing: true)

            #expect(receipt.rows == 4 && receipt.files == 1 && receipt.isErased)
            for digest in digests { #expect(try sources.fixture.find(digest) == []) }
            #expect(try sources.fixture.find(sources.digest("ben@example.org")) != [])
        }
    }

    @Test func aContactWithOnlyAnAddressIsInTheList() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ada@example.org", at: sources.first)
            let url = sources.fixture.serve(other, at: "/ben.png")
            let (ben, carl) = (Contact(id: "ben", avatarURL: url), Contact(id: "carl", avatarURL: url))
            _ = try await sources.sync([ada, ben, carl])
            var options = sources.options
            options.prunes = true

            // Ben's record names no image any more, and no e-mail source has one. Carl left the list.
            let list = [ada, Contact(id: "ben", emails: ["ben@example.org"])]
            let report = try await sources.fixture.store.sync(contacts: list, options: options)

            #expect(report.unlinked == 2 && report.withoutImage == 1)
            #expect(try sources.fixture.store.avatar(forContact: "ada") != nil)
            for gone in ["ben", "carl"] { #expect(try sources.fixture.store.avatar(forContact: gone) == nil) }
            let again = try await sources.fixture.store.sync(contacts: list, options: options)
            #expect(again.unlinked == 0 && again.requests == 0)
            let none = try await sources.fixture.store.sync(contacts: [ada, ben], options: pruningWithoutSources)
            #expect(none.unlinked == 1 && none.requests == 0)
            #expect(try sources.fixture.store.list(AvatarListQuery()).items.map(\.key.rawValue) == [url])
        }
    }

    private var pruningWithoutSources: SyncOptions {
        var options = SyncOptions()
        options.prunes = true
        return options
    }

    @Test func aPreviewCountsTheContactsThatSourcesAreAskedFor() async throws {
        try await withSources { sources in
            sources.serve(face, for: "ben@example.org", at: sources.first)
            let people = [ada, Contact(id: "ben", emails: ["ben@example.org"]), Contact(id: "carl", emails: ["none"])]
            func list() -> AsyncStream<ContactRecord> {
                AsyncStream { list in
                    for person in people { list.yield(.contact(person)) }
                    list.finish()
                }
            }

            let before = try await sources.fixture.store.syncPreview(.records(list()), options: sources.options)
            #expect(before.toFetch == 2 && before.withoutImage == 1 && sources.fixture.origin.requestCount == 0)
            _ = try await sources.sync(people)
            let after = try await sources.fixture.store.syncPreview(.records(list()), options: sources.options)

            #expect(after.toFetch == 0 && after.fresh == 1 && after.withoutImage == 2)
        }
    }
}

/// Two sources on the fixture's origin.
private struct Sources {
    let fixture: StoreFixture
    let first: EmailSource
    let second: EmailSource

    var options: SyncOptions {
        var options = SyncOptions()
        options.emailSources = [first, second]
        return options
    }

    func sync(_ contacts: [Contact]) async throws -> SyncReport {
        try await fixture.store.sync(contacts: contacts, options: options)
    }

    func path(_ email: String, at source: EmailSource) -> String {
        String(source.url(for: email)?.trimmingPrefix(fixture.origin.url("")).prefix { $0 != "?" } ?? "")
            .withLeadingSlash
    }

    func digest(_ email: String) throws -> String {
        try #require(path(email, at: first).split(separator: "/").last.map(String.init))
    }

    func serve(_ bytes: [UInt8], for email: String, at source: EmailSource) {
        fixture.serve(bytes, at: path(email, at: source))
    }

    /// The hashes that the origin was asked for, in order.
    var asked: [String] {
        let known = ["ada@example.org", "ada@home.example", "ben@example.org"]
        var names: [String: String] = [:]
        for (name, source) in [("first", first), ("second", second)] {
            for email in known { names[path(email, at: source) + "?s=256&d=404"] = "\(name) \(email)" }
        }
        return fixture.origin.requests.compactMap { names[$0.target] }
    }
}

extension String {
    fileprivate var withLeadingSlash: String { hasPrefix("/") ? self : "/" + self }
}
