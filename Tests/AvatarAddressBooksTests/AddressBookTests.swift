import AvatarAddressBooks
import AvatarCore
import AvatarFiles
import AvatarMaintenance
import AvatarStoreTesting
import Foundation
import Logging
import ProgramRunning
import Synchronization
import Testing

@testable import AvatarStore

/// Syncs of a store with a CardDAV server.
@Suite(.timeLimit(.minutes(5)))
struct AddressBookTests {
    private static func photo(_ seed: UInt64) -> String {
        let image = SampleImage.png(seed: seed, byteCount: 600)
        return "PHOTO;ENCODING=b;TYPE=PNG:" + Data(image).base64EncodedString()
    }

    private static func with(_ body: (StoreFixture, BookServer) async throws -> Void) async throws {
        try await BookServer.with { server in
            try await StoreFixture.withStore { fixture in try await body(fixture, server) }
        }
    }

    private func source(_ server: BookServer, _ change: (inout CardDAVServer) -> Void = { _ in }) throws
        -> ContactSource
    {
        var place = try CardDAVServer(url: server.url())
        change(&place)
        return .cardDAV(place)
    }

    private func sync(_ fixture: StoreFixture, _ source: ContactSource, full: Bool = false) async throws -> SyncReport {
        var options = SyncOptions()
        options.comparesAll = full
        return try await fixture.store.sync(from: [source], options: options)
    }

    /// The contacts with their keys, and the digests of their images.
    private func contents(_ store: AvatarStore) throws -> [String] {
        try store.contacts().contacts.map { contact in
            let digest = try contact.key.flatMap { try store.index.entry(for: $0)?.sha256 } ?? []
            return "\(contact.id) \(contact.name ?? "-") \(contact.key?.description ?? "-") \(digest.prefix(4))"
        }
    }

    /// The request for the next cards is under way while the ones before are read.
    @Test(
        "a book of several batches that fails at any request is complete after the next sync",
        arguments: [(4, 500), (6, 401), (7, 500), (8, 401), (9, 500)]
    )
    func largeBook(requests: Int, status: Int) async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            for number in 0..<350 {
                server.put("c\(number)", number % 50 == 7 ? Self.photo(UInt64(number)) : "NOTE:none")
            }
            server.faults.statusAfter = (requests, status)
            let first = try await sync(fixture, source)
            // Finding the book takes four requests, its listing one, and its cards four.
            #expect((first.contacts < 350) == (requests < 9), "\(server.takeRequests())")

            server.faults.statusAfter = nil
            let second = try await sync(fixture, source)

            #expect(second.sources.first?.failure == nil && second.contacts == 350)
            #expect(second.sources.first?.removed == 0)
            let found = try contents(fixture.store)
            try await StoreFixture.withStore { other in
                _ = try await sync(other, source)
                #expect(try contents(other.store) == found)
            }
        }
    }

    @Test func onlyChangedCardsAreRead() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            fixture.origin.setResponse(.image(SampleImage.png(seed: 9, byteCount: 500)), for: "/ben.png")
            server.put("ada", Self.photo(1))
            server.put("ben", "PHOTO;VALUE=URI:" + fixture.origin.url("/ben.png"))
            server.put("cid")

            let first = try await sync(fixture, source)
            #expect(first.contacts == 3)
            #expect(first.saved == 1)
            #expect(first.fetched == 1)
            #expect(first.sources.map(\.cards) == [3])
            #expect(first.sources.map(\.changed) == [3])
            #expect(
                server.takeRequests() == [
                    "PROPFIND /.well-known/carddav", "PROPFIND /dav/", "PROPFIND /dav/ada/", "PROPFIND /dav/ada/",
                    "sync /dav/ada/people/", "multiget /dav/ada/people/",
                ]
            )

            let second = try await sync(fixture, source)
            #expect(second.contacts == 3)
            #expect(second.saved == 1)
            #expect(second.fresh + second.notModified + second.fetched == 1)
            #expect(second.sources.map(\.changed) == [0])
            #expect(server.takeRequests() == ["PROPFIND /dav/ada/"])

            server.put("ada", Self.photo(2))
            server.put("dan", Self.photo(3))
            server.delete("ben")
            let third = try await sync(fixture, source)
            #expect(third.sources.map(\.changed) == [2])
            #expect(third.sources.map(\.removed) == [1])
            #expect(third.unlinked == 1)
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ada", "cid", "dan"])
            #expect(
                server.takeRequests() == ["PROPFIND /dav/ada/", "sync /dav/ada/people/", "multiget /dav/ada/people/"]
            )
            #expect(
                try fixture.store.index.entry(for: AvatarKey(stored: "contact:ada"))?.sha256
                    == Self.digest(SampleImage.png(seed: 2, byteCount: 600))
            )
        }
    }

    /// Two cards with one UID: the later one counts, and once it is gone the other one does, with its photo.
    @Test func photoOfTheOtherCardTakesThePlaceOfOneThatIsGone() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("a", Self.photo(1), uid: "ada")
            server.put("b", Self.photo(2), uid: "ada")
            func image() throws -> [UInt8]? { try fixture.store.index.entry(for: AvatarKey(contact: "ada"))?.sha256 }
            _ = try await sync(fixture, source)
            #expect(try image() == Self.digest(SampleImage.png(seed: 2, byteCount: 600)))

            server.delete("b")
            let report = try await sync(fixture, source)

            #expect(try image() == Self.digest(SampleImage.png(seed: 1, byteCount: 600)))
            #expect(report.sources.first?.changed == 1)
            #expect(report.sources.first?.isFull == false)
            let next = try await sync(fixture, source)
            #expect(next.sources.first?.changed == 0)
            #expect(next.sources.first?.requests == 1)

            // A card that is of another contact now.
            server.put("b", Self.photo(3), uid: "ada")
            _ = try await sync(fixture, source)
            #expect(try image() == Self.digest(SampleImage.png(seed: 3, byteCount: 600)))
            server.put("b", Self.photo(3), uid: "ben")
            _ = try await sync(fixture, source)
            #expect(try image() == Self.digest(SampleImage.png(seed: 1, byteCount: 600)))
        }
    }

    /// A card that is gone leads to those of its contact, and not to all cards.
    @Test func goneCardLeadsToTheCardsOfItsContactOnly() async throws {
        let log = DebugLog()
        try await BookServer.with { server in
            try await StoreFixture.withStore {
                $0.logger = Logger(label: "test") { _ in log }
            } _: { fixture in
                let source = try source(server)
                for number in 0..<40 { server.put("card\(number)", Self.photo(UInt64(number))) }
                server.put("a", Self.photo(50), uid: "ada")
                server.put("b", Self.photo(51), uid: "ada")
                _ = try await sync(fixture, source)
                #expect(log.values("decoded").isEmpty)

                server.delete("card7")
                _ = try await sync(fixture, source)
                #expect(log.values("decoded") == ["0"])

                server.delete("b")
                _ = try await sync(fixture, source)
                #expect(log.values("decoded") == ["0", "1"])
                #expect(log.values("found") == ["0", "1"])
                #expect(
                    try fixture.store.index.entry(for: AvatarKey(contact: "ada"))?.sha256
                        == Self.digest(SampleImage.png(seed: 50, byteCount: 600))
                )

                // Too many to look for each of them.
                for number in 10..<27 { server.delete("card\(number)") }
                _ = try await sync(fixture, source)
                #expect(log.values("decoded").last == "23")
            }
        }
    }

    /// DAViCal has no state of the collection above all users, and sends all cards that it has if it does not know the token.
    @Test func waysOfDAViCalAreKnown() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.faults.resemblesDAViCal = true
            for name in ["ada", "ben", "cid", "dan"] { server.put(name) }

            let first = try await sync(fixture, source)

            #expect(first.sources.map { $0.failure?.message } == [nil])
            #expect(first.sources.map(\.cards) == [4])
            #expect(first.sources.map(\.changed) == [4])
            #expect(server.takeRequests().filter { $0 == "PROPFIND /dav/" }.count == 1)
            _ = try await sync(fixture, source)
            #expect(server.takeRequests() == ["PROPFIND /dav/ada/"])

            server.delete("ben")
            server.put("cid", "NOTE:changed")
            server.faults.oldestToken = 6
            let later = try await sync(fixture, source)
            #expect(later.sources.map(\.removed) == [1])
            #expect(later.sources.map(\.changed) == [1])
            #expect(later.sources.map(\.isFull) == [true])
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ada", "cid", "dan"])
        }
    }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] { ContentDigest.sha256(bytes) }

    @Test func cardWithoutItsImageUnlinksIt() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.put("ada")
            let report = try await sync(fixture, source)
            #expect(report.unlinked == 1)
            #expect(try fixture.store.contacts().contacts.map(\.key?.description) == [nil, "contact:ben"])
            // Nor is it brought back.
            _ = try await sync(fixture, source, full: true)
            #expect(try fixture.store.contacts().contacts.map(\.key?.description) == [nil, "contact:ben"])
        }
    }

    @Test func contactStaysWhileAListNamesIt() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            var options = SyncOptions()
            options.list = "team"
            fixture.origin.setResponse(.image(SampleImage.png(seed: 9, byteCount: 500)), for: "/ada.png")
            let listed = [Contact(id: "ada", avatarURL: fixture.origin.url("/ada.png"))]
            _ = try await fixture.store.sync(contacts: listed, options: options)

            server.delete("ada")
            server.delete("ben")
            let report = try await sync(fixture, source)
            #expect(report.unlinked == 1)
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ada"])

            // And the other way: the list lets it go, and it goes, because the source does not name it any more.
            options.prunes = true
            _ = try await fixture.store.sync(
                contacts: [Contact(id: "eve", avatarURL: fixture.origin.url("/ada.png"))],
                options: options
            )
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["eve"])
        }
    }

    @Test func sourceAndListAreSyncedTogether() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            fixture.origin.setResponse(.image(SampleImage.png(seed: 9, byteCount: 500)), for: "/ben.png")
            let records = ContactStream([Contact(id: "ben", avatarURL: fixture.origin.url("/ben.png"))])
            var options = SyncOptions()
            options.list = "team"
            let report = try await fixture.store.sync(.sources([source], and: records), options: options)
            #expect(report.contacts == 2)
            #expect(try fixture.store.namedLists().map(\.contacts) == [1, 1])
            #expect(try fixture.store.namedLists().map(\.kind) == [.cardDAV, .list])
            server.delete("ada")
            let second = try await fixture.store.sync(.sources([source], and: records), options: options)
            #expect(second.unlinked == 1)
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ben"])
        }
    }

    @Test func mostOfABookIsNotUnlinkedAtOnce() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            for number in 0..<30 { server.put("c\(number)", Self.photo(1)) }
            _ = try await sync(fixture, source)
            for number in 0..<25 { server.delete("c\(number)") }
            let report = try await sync(fixture, source)
            #expect(report.unlinked == 0)
            #expect(report.keptLeavers == 25)
            #expect(report.outcome == .incomplete)
            // It is said again, although the token is a new one.
            #expect(try await sync(fixture, source).keptLeavers == 25)
            var options = SyncOptions()
            options.prunesAll = true
            #expect(try await fixture.store.sync(from: [source], options: options).unlinked == 25)
            #expect(try fixture.store.contacts().contacts.count == 5)
        }
    }

    @Test(arguments: [403, 405, 501])
    func cardsAreComparedWithoutReports(status: Int) async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.faults.reportStatus = status
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            _ = server.takeRequests()
            _ = try await sync(fixture, source)
            #expect(server.takeRequests() == ["PROPFIND /dav/ada/"])
            server.put("ben", Self.photo(3))
            server.delete("ada")
            let report = try await sync(fixture, source)
            #expect(report.sources.map(\.changed) == [1])
            #expect(report.sources.map(\.removed) == [1])
            #expect(report.sources.map(\.isFull) == [true])
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ben"])
        }
    }

    @Test func serverWithoutStateAndETagsIsReadAsAWhole() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.faults.hasState = false
            server.faults.hasETags = false
            server.faults.hasMultiget = false
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.put("ben", Self.photo(3))
            server.delete("ada")
            let report = try await sync(fixture, source)
            #expect(report.sources.map(\.removed) == [1])
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ben"])
            #expect(
                try fixture.store.index.entry(for: AvatarKey(stored: "contact:ben"))?.sha256
                    == Self.digest(SampleImage.png(seed: 3, byteCount: 600))
            )
        }
    }

    @Test(arguments: [403, 409, 410, 500, 207]) func forgottenTokenLeadsToAComparison(status: Int) async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.faults.tokenStatus = status
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.delete("ben")
            server.put("cid", Self.photo(3))
            server.faults.oldestToken = 4
            _ = server.takeRequests()
            let report = try await sync(fixture, source)
            #expect(report.sources.map(\.isFull) == [true])
            #expect(report.sources.map(\.changed) == [1])
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ada", "cid"])
        }
    }

    @Test func pagesAreReadToTheirEnd() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.faults.pageSize = 7
            for number in 0..<40 { server.put("c\(number)", Self.photo(1)) }
            #expect(try await sync(fixture, source).contacts == 40)
            for number in 0..<16 { server.delete("c\(number)") }
            for number in 20..<30 { server.put("c\(number)", Self.photo(2)) }
            let report = try await sync(fixture, source)
            #expect(report.contacts == 24)
            #expect(report.sources.map(\.changed) == [10])
            #expect(report.sources.map(\.removed) == [16])
        }
    }

    @Test func smallerBatchesFollowARefusal() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.faults.multigetLimit = 10
            for number in 0..<60 { server.put("c\(number)", Self.photo(1)) }
            let report = try await sync(fixture, source)
            #expect(report.contacts == 60)
            #expect(report.saved == 60)
        }
    }

    @Test func unreadableCardKeepsItsContact() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.put(text: "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nFN:", "ada")
            server.put(text: "<html>", "new")
            let report = try await sync(fixture, source)
            #expect(report.unreadable == 2)
            #expect(report.sources.map(\.unreadable) == [2])
            #expect(report.unlinked == 0)
            #expect(try fixture.store.contacts().contacts.map(\.key?.description) == ["contact:ada", "contact:ben"])
            // It is reported as long as it is so, without being read.
            _ = server.takeRequests()
            #expect(try await sync(fixture, source).unreadable == 2)
            #expect(server.takeRequests().count == 1)
            server.put("ada", Self.photo(3))
            server.delete("new")
            #expect(try await sync(fixture, source).unreadable == 0)
        }
    }

    @Test func photoThatTheStoreLostIsReadAgain() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            try await fixture.store.remove(AvatarKey(stored: "contact:ada"))
            _ = try await sync(fixture, source)
            _ = server.takeRequests()
            let report = try await sync(fixture, source)
            #expect(report.sources.map(\.changed) == [1])
            #expect(server.takeRequests() == ["PROPFIND /dav/ada/", "GET /dav/ada/people/ada.vcf"])
            #expect(try fixture.store.contacts().contacts.map(\.key?.description) == ["contact:ada", "contact:ben"])
        }
    }

    @Test func changedIdMovesTheImage() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("card", Self.photo(1), uid: "old")
            server.put("other", Self.photo(2))
            _ = try await sync(fixture, source)
            server.put("card", Self.photo(1), uid: "new")
            _ = try await sync(fixture, source)
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["new", "other"])
        }
    }

    /// A listing that must change nothing.
    @Test(arguments: [
        "<html><body>Log in</body></html>", "", "nothing",
        #"<d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/eve/people/x.vcf</d:href></d:response></d:multistatus>"#,
        #"<d:multistatus xmlns:d="DAV:"><d:response><d:href>http://other.example/dav/ada/people/x.vcf</d:href></d:response></d:multistatus>"#,
        #"<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/ada/people/&x;</d:href></d:response></d:multistatus>"#,
        #"<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><d:multistatus xmlns:d="DAV:"/>"#,
        #"<d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/ada/people/ada.vcf</d:href></d:response>"#,
        #"<d:other xmlns:d="DAV:"/>"#,
    ])
    func nonsenseUnlinksNothing(_ listing: String) async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.put("cid")
            server.faults.listing = listing
            let report = try await sync(fixture, source)
            let failure = try #require(report.sources.first?.failure)
            #expect(failure.code == .unreadableList)
            #expect(report.unlinked == 0)
            #expect(report.contacts == 2)
            #expect(report.outcome == .incomplete)
            #expect(try fixture.store.namedLists().first?.failure == failure.message)
            server.faults.listing = nil
            #expect(try await sync(fixture, source).contacts == 3)
            #expect(try fixture.store.namedLists().first?.failure == nil)
        }
    }

    @Test(arguments: [10, 200, 500])
    func listingThatIsCutShortUnlinksNothing(bytes: Int) async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            for number in 0..<10 { server.put("c\(number)", Self.photo(1)) }
            _ = try await sync(fixture, source)
            server.delete("c1")
            server.faults.listingBytes = bytes
            let report = try await sync(fixture, source, full: true)
            #expect(report.sources.first?.failure?.code == .unreadableList)
            #expect(report.unlinked == 0)
            server.faults.listingBytes = .max
            #expect(try await sync(fixture, source).unlinked == 1)
        }
    }

    @Test func refusalInTheMiddleKeepsAllAndGoesOnLater() async throws {
        try await Self.with { fixture, server in
            let source = try source(server) { $0.login = .init(user: "ada", password: "secret") }
            for number in 0..<250 { server.put("c\(number)") }
            server.faults.statusAfter = (6, 401)
            let report = try await sync(fixture, source)
            #expect(report.sources.first?.failure?.message.contains("refuses the user or the password") == true)
            #expect(report.sources.first?.failure?.message.contains("secret") == false)
            server.faults.statusAfter = nil
            _ = server.takeRequests()
            let second = try await sync(fixture, source)
            #expect(second.contacts == 250)
            // The first hundred is known.
            #expect(second.sources.map(\.changed) == [150])
        }
    }

    @Test func loginIsSentToTheServerOnly() async throws {
        try await Self.with { fixture, server in
            try await BookServer.with { other in
                let source = try source(server) { $0.login = .init(user: "ada", password: "a secret & more") }
                server.faults.login = ("ada", "a secret & more")
                server.put("ada", Self.photo(1))
                #expect(try await sync(fixture, source).saved == 1)
                server.faults.redirect = other.url("/dav/")
                let report = try await sync(fixture, source)
                #expect(report.sources.first?.failure?.message.contains("redirects to another host") == true)
                #expect(other.takeRequests().isEmpty)
            }
        }
    }

    @Test func digestProvesTheLogin() async throws {
        try await Self.with { fixture, server in
            let source = try source(server) { $0.login = .init(user: "ada", password: "a secret & more") }
            server.faults.login = ("ada", "a secret & more")
            server.faults.asksForDigest = true
            for number in 0..<150 { server.put("c\(number)") }
            let report = try await sync(fixture, source)
            #expect(report.sources.first?.failure?.message == nil)
            #expect(report.contacts == 150)
            let other = try self.source(server) { $0.login = .init(user: "ada", password: "wrong") }
            let refused = try await sync(fixture, other)
            #expect(refused.sources.first?.failure?.message.contains("refuses the user or the password") == true)
            #expect(refused.unlinked == 0)
        }
    }

    @Test func unreachableServerKeepsItsContacts() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            _ = try await sync(fixture, source)
            server.faults.statusAfter = (0, 503)
            let report = try await sync(fixture, source)
            #expect(report.sources.first?.failure?.code == .fetchFailed)
            #expect(report.contacts == 1)
            #expect(report.unlinked == 0)
        }
    }

    @Test func namedBookIsRead() async throws {
        try await Self.with { fixture, server in
            server.put("ada", Self.photo(1))
            let people = try source(server) { $0.books = ["People"] }
            #expect(try await sync(fixture, people).contacts == 1)
            let work = try source(server) { $0.books = ["Work"] }
            let report = try await sync(fixture, work)
            #expect(report.sources.first?.failure?.message.contains("has no book \"Work\", but \"People\"") == true)
            #expect(report.unlinked == 0)
        }
    }

    @Test func bookAtTheURLNeedsNoSearch() async throws {
        try await Self.with { fixture, server in
            server.put("ada", Self.photo(1))
            let source = ContactSource.cardDAV(try CardDAVServer(url: server.url(BookServer.book)))
            #expect(try await sync(fixture, source).contacts == 1)
            #expect(server.takeRequests().prefix(1) == ["PROPFIND /dav/ada/people/"])
            _ = try await sync(fixture, source)
            #expect(server.takeRequests() == ["PROPFIND /dav/ada/people/"])
        }
    }

    @Test func forgottenSourceGoesWithItsCards() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            _ = try await sync(fixture, source)
            #expect(try await fixture.store.forget(list: server.url()) == 1)
            #expect(try fixture.store.namedLists().isEmpty)
            #expect(try fixture.store.contacts().contacts.isEmpty)
            #expect(try await sync(fixture, source).sources.map(\.changed) == [1])
        }
    }

    @Test func erasedContactStaysAway() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("card-of-ada", Self.photo(1), uid: "ada-lovelace")
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            let receipt = try await fixture.store.remove(contact: "ada-lovelace", erasing: true)
            #expect(receipt.isErased && receipt.traces.isEmpty, "\(receipt.traces)")
            for _ in 0..<2 {
                let report = try await sync(fixture, source)
                #expect(report.contacts == 1)
                #expect(report.sources.map(\.erased) == [1])
            }
            // Nor does a comparison of all cards bring it back.
            server.faults.oldestToken = .max
            server.put("cid")
            #expect(try await sync(fixture, source).contacts == 2)
            server.faults.oldestToken = 0
            server.put("card-of-ada", Self.photo(3), uid: "ada-lovelace")
            let changed = try await sync(fixture, source)
            #expect(changed.contacts == 3)
            #expect(changed.sources.map(\.erased) == [0])
            _ = try await fixture.store.remove(contact: "ada-lovelace", erasing: true)
            #expect(try await sync(fixture, source, full: true).contacts == 3)
        }
    }

    @Test func namesAndAddressesAreKeptAsTheSettingsSay() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", "EMAIL:Ada.Lovelace@example.org", Self.photo(1))
            _ = try await sync(fixture, source)
            func holds(_ text: String) throws -> Bool {
                try fixture.store.index.sources().contains { source in
                    try fixture.store.index.books(of: source.id).contains { book in
                        try fixture.store.index.cards(in: book.id, after: "", limit: 10).contains {
                            Data($0.records).range(of: Data(text.utf8)) != nil
                        }
                    }
                }
            }
            let digest = EmailAddress.digested("ada.lovelace@example.org") ?? ""
            #expect(try !holds("@example.org") && !holds(digest))

            try await fixture.store.set(.keepAddresses, to: 1)
            #expect(try await sync(fixture, source).sources.map(\.isFull) == [true])
            #expect(try !holds("@example.org") && holds(digest))
            #expect(try await sync(fixture, source).sources.map(\.isFull) == [false])
            #expect(try fixture.store.index.hasAddresses())
            try await fixture.store.set(.keepAddresses, to: 0)
            #expect(try !holds(digest))

            server.put("ben", uid: "b")
            _ = try await sync(fixture, source)
            #expect(try holds("ben"))
            try await fixture.store.set(.keepNames, to: 0)
            #expect(try !holds("ben"))
            #expect(try await sync(fixture, source).contacts == 2)
            try await fixture.store.set(.keepNames, to: 1)
            _ = try await sync(fixture, source)
            #expect(try fixture.store.contacts().contacts.map(\.name) == ["ada", "ben"])
        }
    }

    @Test func emailSourceIsAskedForUnchangedCards() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", "EMAIL:ada@example.org")
            _ = try await sync(fixture, source)
            var options = SyncOptions()
            options.emailSources = [try EmailSource(baseURL: fixture.origin.url("/avatar"))]
            let url = options.emailSources[0].url(for: "ada@example.org") ?? ""
            let target = String(url.dropFirst(fixture.origin.url("").dropLast().count))
            fixture.origin.setResponse(.image(SampleImage.png(seed: 1, byteCount: 500)), for: target)
            #expect(try await fixture.store.sync(from: [source], options: options).fetched == 1)
            let again = try await fixture.store.sync(from: [source], options: options)
            #expect(again.sources.map(\.changed) == [0])
            #expect(again.withoutImage == 0)
            #expect(try fixture.store.contacts().contacts.map(\.hasFile) == [true])
        }
    }

    @Test func contactOfSourceAndUnnamedListStays() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            fixture.origin.setResponse(.image(SampleImage.png(seed: 9, byteCount: 500)), for: "/ada.png")
            let list = ContactStream([Contact(id: "ada", avatarURL: fixture.origin.url("/ada.png"))])
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            // The source names the contact first, and then the list's record of it counts.
            _ = try await sync(fixture, source)
            server.put("ben", Self.photo(3))
            #expect(try await fixture.store.sync(.sources([source], and: list)).unlinked == 0)
            #expect(try fixture.store.contacts().contacts.map(\.hasFile) == [true, true])
        }
    }

    @Test func pruningWaitsForASourceThatFails() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.delete("ben")
            server.put("cid", Self.photo(3))
            // The change is known, and then the server fails.
            _ = server.takeRequests()
            server.faults.statusAfter = (2, 503)
            var options = SyncOptions()
            options.prunes = true
            let report = try await fixture.store.sync(from: [source], options: options)
            #expect(report.sources.first?.failure != nil)
            #expect(report.unlinked == 0)
            #expect(try fixture.store.contacts().contacts.map(\.hasFile).filter(\.self).count >= 2)
            server.faults.statusAfter = nil
            #expect(try await sync(fixture, source).unlinked == 1)
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ada", "cid"])
        }
    }

    /// Listings in which cards are missing for another reason than that they are gone.
    @Test(arguments: [
        #"<d:multistatus xmlns:d="DAV:"/>"#,
        """
        <d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/ada/people/</d:href>\
        <d:status>HTTP/1.1 507 Insufficient Storage</d:status></d:response></d:multistatus>
        """,
        """
        <d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/ada/people/</d:href><d:propstat><d:prop/>\
        <d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response><d:response><d:href>/dav/ada/people/ada.vcf</d:href>\
        <d:href>/dav/ada/people/ben.vcf</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response></d:multistatus>
        """,
    ])
    func listingWithoutCardsUnlinksNothing(_ listing: String) async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.faults.reportStatus = 403
            server.faults.listing = listing
            server.put("cid", Self.photo(3))
            let report = try await sync(fixture, source)
            #expect(report.unlinked == 0)
            #expect(try fixture.store.contacts().contacts.map(\.hasFile) == [true, true])
        }
    }

    @Test func emptyCardKeepsItsContact() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            server.put("ben", Self.photo(2))
            _ = try await sync(fixture, source)
            server.put(text: "", "ada")
            let report = try await sync(fixture, source)
            #expect(report.unreadable == 1 && report.unlinked == 0)
            #expect(try fixture.store.contacts().contacts.map(\.id) == ["ada", "ben"])
        }
    }

    @Test func bookThatIsGoneForAMomentStaysTheOnlyOne() async throws {
        try await Self.with { fixture, server in
            server.put("ada", Self.photo(1))
            // As people write it, without the slash.
            let source = ContactSource.cardDAV(try CardDAVServer(url: server.url(String(BookServer.book.dropLast()))))
            _ = try await sync(fixture, source)
            server.faults.hidesBook = true
            let report = try await sync(fixture, source)
            #expect(report.sources.first?.failure?.message.contains("does not have the book any more") == true)
            #expect(report.unlinked == 0)
            server.faults.hidesBook = false
            #expect(try await sync(fixture, source).sources.first?.failure == nil)
        }
    }

    @Test func otherUserNeedsAnotherSource() async throws {
        try await Self.with { fixture, server in
            server.put("ada", Self.photo(1))
            let ada = try source(server) { $0.login = .init(user: "ada", password: "a") }
            let ben = try source(server) { $0.login = .init(user: "ben", password: "b") }
            _ = try await sync(fixture, ada)
            let report = try await sync(fixture, ben)
            #expect(report.sources.first?.failure?.message.contains("is known with another user") == true)
            #expect(report.sources.first?.failure?.message.contains("ben") == false)
            try await fixture.store.forget(list: server.url())
            #expect(try await sync(fixture, ben).sources.first?.failure == nil)
        }
    }

    @Test func emailImageStaysWithoutTheEmailSource() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", "EMAIL:ada@example.org")
            var options = SyncOptions()
            options.emailSources = [try EmailSource(baseURL: fixture.origin.url("/avatar"))]
            let url = options.emailSources[0].url(for: "ada@example.org") ?? ""
            let target = String(url.dropFirst(fixture.origin.url("").dropLast().count))
            fixture.origin.setResponse(.image(SampleImage.png(seed: 1, byteCount: 500)), for: target)
            _ = try await fixture.store.sync(from: [source], options: options)
            server.put("ben")
            #expect(try await sync(fixture, source).unlinked == 0)
            #expect(try fixture.store.contacts().contacts.map(\.hasFile) == [true, false])
        }
    }

    @Test func offlineAndTimeLimitHold() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            _ = try await sync(fixture, source)
            _ = server.takeRequests()
            var options = SyncOptions()
            options.policy = .offline
            #expect(try await fixture.store.sync(from: [source], options: options).contacts == 1)
            #expect(server.takeRequests().isEmpty)
            options = SyncOptions()
            options.timeLimit = .zero
            let report = try await fixture.store.sync(from: [source], options: options)
            #expect(report.sources.first?.failure?.message.contains("within the time limit") == true)
            #expect(server.takeRequests().isEmpty)
        }
    }

    @Test func offlineSyncUnlinksNothingAfterAFailedOne() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            for name in ["ada", "ben", "cid"] { server.put(name, Self.photo(1)) }
            _ = try await sync(fixture, source)
            server.delete("ada")
            server.faults.pageSize = 1
            server.put("ben", Self.photo(2))
            _ = server.takeRequests()
            // The first page is done, and the second is refused.
            server.faults.statusAfter = (2, 503)
            #expect(try await sync(fixture, source).sources.first?.failure != nil)
            var options = SyncOptions()
            options.policy = .offline
            options.prunes = true
            #expect(try await fixture.store.sync(from: [source], options: options).unlinked == 0)
            #expect(try fixture.store.namedLists().first?.failure != nil)
            server.faults.statusAfter = nil
            #expect(try await sync(fixture, source).unlinked == 1)
        }
    }

    @Test func erasedContactStaysAwayWhenASyncNeedsMore() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", "EMAIL:ada@example.org", Self.photo(1))
            server.put("ben", "EMAIL:ben@example.org", Self.photo(2))
            _ = try await sync(fixture, source)
            _ = try await fixture.store.remove(contact: "ada", erasing: true)
            try await fixture.store.set(.keepAddresses, to: 1)
            let report = try await sync(fixture, source)
            #expect(report.sources.map(\.isFull) == [true])
            #expect(report.contacts == 1)
        }
    }

    @Test func planAsksNoServer() async throws {
        try await Self.with { fixture, server in
            let source = try source(server)
            server.put("ada", Self.photo(1))
            _ = try await sync(fixture, source)
            _ = server.takeRequests()
            let preview = try await fixture.store.syncPreview(.sources([source]))
            #expect(preview.contacts == 1)
            #expect(preview.saved == 1)
            #expect(server.takeRequests().isEmpty)
        }
    }

    /// After any changes, the store is as one that reads the book for the first time.
    @Test(arguments: 0..<4)
    func changesLeadToTheStateOfAFreshSync(seed: UInt64) async throws {
        try await Self.with { fixture, server in
            var random = SeededGenerator(seed: seed)
            let source = try source(server)
            for step in 0..<60 {
                for _ in 0..<Int.random(in: 1...5, using: &random) {
                    let name = "c\(Int.random(in: 0..<25, using: &random))"
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0: server.delete(name)
                    case 1: server.put(name)
                    case 2:
                        server.put(
                            name,
                            Self.photo(.random(in: 0..<5, using: &random)),
                            uid: "c\(Int.random(in: 0..<25, using: &random))"
                        )
                    case 3: server.put(text: "BEGIN:VCARD\r\n", name + "x")
                    case 4: server.delete(name + "x")
                    default: server.put(name, Self.photo(.random(in: 0..<5, using: &random)))
                    }
                }
                server.faults.pageSize = [3, Int.max].randomElement(using: &random) ?? 3
                server.faults.oldestToken = Int.random(in: 0..<4, using: &random) == 0 ? .max : 0
                server.faults.reportStatus = Int.random(in: 0..<4, using: &random) == 0 ? 403 : nil
                var options = SyncOptions()
                options.prunesAll = true
                _ = try await fixture.store.sync(from: [source], options: options)
                guard step % 20 == 19 else { continue }
                try await StoreFixture.withStore { fresh in
                    _ = try await fresh.store.sync(from: [source], options: options)
                    let known = try contents(fixture.store)
                    #expect(try contents(fresh.store) == known, "seed \(seed), step \(step)")
                }
            }
        }
    }
}

/// Contacts that can be read once.
private struct ContactStream: AsyncSequence, Sendable {
    let contacts: [Contact]

    init(_ contacts: [Contact]) { self.contacts = contacts }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Contact>
        mutating func next() async -> ContactRecord? { rest.popFirst().map(ContactRecord.contact) }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: contacts[...]) }
}

private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Keeps the values of what a store logs.
private final class DebugLog: LogHandler, Sendable {
    private let lines = Mutex<[Logger.Metadata]>([])

    /// The values of `name`, in order.
    func values(_ name: String) -> [String] { lines.withLock { $0.compactMap { $0[name]?.description } } }

    func log(event: LogEvent) { lines.withLock { $0.append(event.metadata ?? [:]) } }

    subscript(metadataKey _: String) -> Logger.MetadataValue? {
        get { nil }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .debug }
        set {}
    }
}
