import AvatarMaintenance
import AvatarStoreTesting
import Testing

@testable import AvatarStore

/// URLs whose signature differs in each list.
@Suite(.timeLimit(.minutes(5)))
struct VolatileQuerySyncTests {
    /// Contacts with an image each. The origin answers any query.
    private func people(_ numbers: Range<Int>, _ signature: String, _ fixture: StoreFixture) -> [Contact] {
        numbers.map { number in
            let bytes = SampleImage.png(seed: UInt64(number), byteCount: 1000)
            let url = fixture.serve(bytes, at: "/\(number).png", etag: "\"\(number)\"")
            return Contact(id: "p\(number)", avatarURL: "\(url)?w=96&sig=\(signature)")
        }
    }

    private func leaveOut(_ names: String..., in fixture: StoreFixture) async throws {
        try await fixture.store.setVolatileQuery(VolatileQuery(host: "127.0.0.1", parameters: names))
    }

    private func keys(_ fixture: StoreFixture) throws -> [String] {
        try fixture.store.list().items.map(\.key.rawValue)
    }

    /// The bytes that each contact shows.
    private func image(of contact: String, _ fixture: StoreFixture) throws -> [UInt8]? {
        let key = try fixture.store.index.imageKeys(of: contact).first
        return try key.flatMap { try fixture.store.storedAvatar(for: $0)?.bytes }
    }

    private func face(_ number: Int) -> [UInt8] { SampleImage.png(seed: UInt64(number), byteCount: 1000) }

    @Test func aSignatureThatChangesBringsNoRequest_andTheLatestURLIsFetched() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("sig", in: fixture)
            let first = try await fixture.store.sync(contacts: people(0..<300, "a", fixture))
            #expect(first.fetched == 300)
            let second = try await fixture.store.sync(contacts: people(0..<300, "b", fixture))
            #expect(second.fresh == 300)
            #expect(second.requests == 0)
            #expect(fixture.origin.requestCount == 300)

            let items = try fixture.store.list().items
            #expect(items.count == 300)
            #expect(items.allSatisfy { $0.key.rawValue.hasSuffix(".png?w=96") && $0.contacts.count == 1 })
            #expect(items.allSatisfy { $0.sourceURL?.hasSuffix("?w=96&sig=b") == true })

            fixture.clock.advance(by: .seconds(4000))
            let due = try await fixture.store.sync()
            #expect(due.notModified == 300)
            #expect(fixture.origin.requests.suffix(300).allSatisfy { $0.target.hasSuffix("?w=96&sig=b") })
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: [FetchOptions.Storage.caches, .documents])
    func imagesStoredBeforeTheSettingAreTakenOver(_ storage: FetchOptions.Storage) async throws {
        try await StoreFixture.withStore { fixture in
            var options = SyncOptions()
            options.storage = storage
            _ = try await fixture.store.sync(contacts: people(0..<100, "a", fixture), options: options)
            let last = try fixture.store.lastChange()
            try await leaveOut("sig", in: fixture)

            let preview = try await fixture.store.syncPreview(
                .contacts(people(0..<100, "b", fixture)),
                options: options
            )
            #expect(preview.fresh == 100)
            let report = try await fixture.store.sync(contacts: people(0..<100, "b", fixture), options: options)

            #expect(report.fresh == 100)
            #expect(report.requests == 0)
            for number in [0, 42, 99] { #expect(try image(of: "p\(number)", fixture) == face(number)) }
            let owned = try fixture.store.list().items.filter { !$0.contacts.isEmpty }
            #expect(owned.count == 100)
            #expect(owned.allSatisfy { $0.key.rawValue.hasSuffix("?w=96") && $0.storageClass.rawValue == "\(storage)" })
            // The feed tells each contact's new key and its old one.
            let changes = try fixture.store.changes(since: last)
            #expect(changes.count { $0.kind == .added && $0.contacts.count == 1 } == 100)
            #expect(changes.count { $0.kind == .removed && $0.contacts.count == 1 } == 100)
            #expect(try await fixture.store.verify().faults.isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: [["user", "sig"], ["*"]])
    func aParameterThatTellsPersonsApartGivesNoContactTheFaceOfAnother(_ names: [String]) async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.setVolatileQuery(VolatileQuery(host: "127.0.0.1", parameters: names))
            func list(_ signature: String, _ numbers: [Int]) -> [Contact] {
                numbers.map { number in
                    for sig in ["a", "b", "c", "d"] {
                        fixture.serve(face(number), at: "/photo?user=\(number)&sig=\(sig)")
                    }
                    return Contact(
                        id: "p\(number)",
                        avatarURL: fixture.origin.url("/photo?user=\(number)&sig=\(signature)")
                    )
                }
            }
            // Alone, the first contact gets the short key. The second one must not, nor in one list with the first.
            _ = try await fixture.store.sync(contacts: list("a", [1]))
            let second = try await fixture.store.sync(contacts: list("a", [2]))
            #expect(second.details.queryClashes.map(\.contacts) == [1])
            #expect(second.details.queryClashes.first?.examples == ["p2"])
            #expect(try image(of: "p1", fixture) == face(1))
            #expect(try image(of: "p2", fixture) == face(2))
            let both = try await fixture.store.sync(contacts: list("b", [1, 2, 3]))
            #expect(both.details.queryClashes.first?.contacts == 3)
            #expect(both.fetched == 3)
            for number in 1...3 { #expect(try image(of: "p\(number)", fixture) == face(number)) }

            // Two contacts whose parameters were mixed up.
            let mixed = [("p1", 2), ("p2", 1)].map { id, number in
                Contact(id: id, avatarURL: fixture.origin.url("/photo?user=\(number)&sig=c"))
            }
            _ = try await fixture.store.sync(contacts: mixed)
            #expect(try image(of: "p1", fixture) == face(2))
            #expect(try image(of: "p2", fixture) == face(1))

            // A read by URL has nothing to go by but the URL.
            _ = list("d", [4])
            let read = try await fixture.store.avatar(for: fixture.origin.url("/photo?user=4&sig=d"))
            #expect(read.bytes == face(4))
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/photo?user=5&sig=d")) == nil)
            try fixture.expectConsistent()
        }
    }

    @Test func aURLWithoutTheParametersDoesNotMeetTheKeyOfAnother() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("user", in: fixture)
            fixture.serve(face(1), at: "/photo?user=1")
            fixture.serve(face(9), at: "/photo")
            let one = Contact(id: "one", avatarURL: fixture.origin.url("/photo?user=1"))
            let plain = Contact(id: "plain", avatarURL: fixture.origin.url("/photo"))
            _ = try await fixture.store.sync(contacts: [one])
            for list in [[plain], [plain, one], [one, plain]] {
                _ = try await fixture.store.sync(contacts: list)
                #expect(try image(of: "one", fixture) == face(1))
                #expect(try image(of: "plain", fixture) == face(9))
            }
            try fixture.expectConsistent()
        }
    }

    @Test func contactsOfOneURLShareItsImage_alsoUnderANewSignature() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("sig", in: fixture)
            let url = fixture.serve(face(1), at: "/logo.png")
            func team(_ signature: String) -> [Contact] {
                (0..<200).map { Contact(id: "p\($0)", avatarURL: "\(url)?sig=\(signature)") }
            }
            _ = try await fixture.store.sync(contacts: team("a"))
            let report = try await fixture.store.sync(contacts: team("b"))
            #expect(report.requests == 0)
            #expect(report.details.queryClashes.isEmpty)
            #expect(try fixture.store.list().items.map(\.contacts.count) == [200])
            // One of them has a URL of its own: it does not move the others.
            var moved = team("c")
            moved[7].avatarURL = "\(url)?sig=other"
            let clash = try await fixture.store.sync(contacts: moved)
            #expect(clash.details.queryClashes.first?.contacts == 200)
            #expect(clash.fetched == 2)
        }
    }

    @Test func aContactWithSeveralImagesByAParameterGivesNoneOfThemToAnother() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("id", in: fixture)
            let (one, two) = (fixture.serve(face(1), at: "/p?id=1"), fixture.serve(face(2), at: "/p?id=2"))
            let contacts = [
                Contact(id: "a", images: [.url(one), .url(two)]), Contact(id: "b", avatarURL: two),
                Contact(id: "c", avatarURL: one),
            ]
            for list in [contacts, contacts, contacts.reversed()] {
                let report = try await fixture.store.sync(contacts: list)
                #expect(report.details.queryClashes.count == 1)
                #expect(try image(of: "a", fixture) == face(1))
                #expect(try image(of: "b", fixture) == face(2))
                #expect(try image(of: "c", fixture) == face(1))
            }
        }
    }

    @Test func aContactThatLeavesDoesNotKeepTheOthersFromTheirImage() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("sig", in: fixture)
            _ = try await fixture.store.sync(contacts: people(0..<3, "a", fixture))
            var options = SyncOptions()
            options.prunes = true
            let report = try await fixture.store.sync(contacts: people(0..<2, "b", fixture), options: options)
            #expect(report.requests == 0)
            #expect(report.unlinked == 1)
            #expect(try await fixture.store.sync(contacts: people(0..<2, "c", fixture)).requests == 0)
        }
    }

    @Test func aRefusalOfAnOldSignatureDoesNotHoldBackTheNewOne() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("sig", in: fixture)
            let contacts = people(0..<1, "a", fixture)
            _ = try await fixture.store.sync(contacts: contacts)
            fixture.clock.advance(by: .seconds(4000))
            fixture.origin.setResponse(.status(403), for: "/0.png?w=96&sig=a")
            #expect(try await fixture.store.sync(contacts: contacts).failed == 1)
            let report = try await fixture.store.sync(contacts: people(0..<1, "b", fixture))
            #expect(report.notModified == 1)
            #expect(report.skipped == 0)
        }
    }

    @Test func aListOfBareURLsFindsItsImages() async throws {
        try await StoreFixture.withStore { fixture in
            func list(_ signature: String) -> [Contact] {
                people(0..<50, signature, fixture).map { Contact(id: $0.avatarURL ?? "", avatarURL: $0.avatarURL) }
            }
            _ = try await fixture.store.sync(contacts: list("a"))
            try await leaveOut("sig", in: fixture)
            for signature in ["b", "c", "d"] {
                let report = try await fixture.store.sync(contacts: list(signature))
                #expect(report.fresh == 50)
                #expect(report.requests == 0)
            }
            let items = try fixture.store.list().items
            #expect(items.count == 100)
            #expect(items.filter { $0.key.rawValue.hasSuffix("?w=96") }.allSatisfy { $0.contacts == [$0.key.rawValue] })
        }
    }

    @Test func aContactWithTwoURLsKeepsBoth() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("sig", in: fixture)
            fixture.serve(face(2), at: "/second.png")
            func list(_ signature: String) -> [Contact] {
                let urls = ["/first.png", "/second.png"].map { fixture.origin.url($0) + "?sig=\(signature)" }
                return [Contact(id: "p", images: urls.map { .url($0) })]
            }
            let first = try await fixture.store.sync(contacts: list("a"))
            #expect(first.fetched == 1)
            #expect(try image(of: "p", fixture) == face(2))
            #expect(fixture.origin.requests.map(\.target) == ["/first.png?sig=a", "/second.png?sig=a"])
            let second = try await fixture.store.sync(contacts: list("b"))
            #expect(second.fetched == 0)
            #expect(second.fresh == 1)
            fixture.serve(face(1), at: "/first.png")
            fixture.clock.advance(by: .seconds(400_000))
            let third = try await fixture.store.sync(contacts: list("c"))
            #expect(third.fetched == 1)
            #expect(try image(of: "p", fixture) == face(1))
            #expect(fixture.origin.requests.last?.target == "/first.png?sig=c")
        }
    }

    @Test func readsFindTheImageUnderAnotherSignature() async throws {
        try await StoreFixture.withStore { fixture in
            let people = people(0..<2, "a", fixture)
            try await leaveOut("sig", in: fixture)
            _ = try await fixture.store.sync(contacts: [people[0]])
            let other = fixture.origin.url("/0.png?w=96&sig=z")
            #expect(try fixture.store.storedAvatar(for: other)?.bytes == face(0))
            #expect(try fixture.store.storedFile(for: other)?.key.rawValue == fixture.origin.url("/0.png?w=96"))
            #expect(try fixture.store.localFile(for: other) != nil)
            #expect(try fixture.store.withFile(for: other) { _ in true } == true)
            #expect(try fixture.store.details(for: AvatarKey(url: other))?.overview.contacts == ["p0"])
            #expect(try await fixture.store.avatar(for: other).bytes == face(0))
            #expect(fixture.origin.requestCount == 1)
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/0.png?w=32&sig=z")) == nil)

            // An image that no list has named: the latest URL of a read is fetched.
            _ = try await fixture.store.avatar(for: fixture.origin.url("/1.png?w=96&sig=b"))
            var reload = FetchOptions()
            reload.policy = .reload
            _ = try await fixture.store.avatar(for: fixture.origin.url("/1.png?w=96&sig=c"), options: reload)
            #expect(fixture.origin.requests.map(\.target).suffix(2) == ["/1.png?w=96&sig=b", "/1.png?w=96&sig=c"])
            #expect(try fixture.store.list().items.count == 2)
            #expect(try await fixture.store.remove([AvatarKey(url: other)]).rows == 1)
        }
    }

    @Test func anErasureLeavesNothingOfAContactUnderAShortKey() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: people(0..<3, "a", fixture))
            try await leaveOut("sig", in: fixture)
            _ = try await fixture.store.sync(contacts: people(0..<3, "b", fixture))
            let receipt = try await fixture.store.remove(contact: "p1", erasing: true)
            #expect(receipt.isErased)
            // The image under the short key and the one under the URL before.
            #expect(receipt.rows == 2)
            #expect(receipt.files == 1)
            #expect(try keys(fixture).allSatisfy { !$0.contains("/1.png") })
            #expect(try image(of: "p0", fixture) == face(0))
        }
    }

    @Test func withoutTheSettingTheWholeURLIsTheKeyAgain() async throws {
        try await StoreFixture.withStore { fixture in
            try await leaveOut("sig", in: fixture)
            _ = try await fixture.store.sync(contacts: people(0..<2, "a", fixture))
            try await fixture.store.removeVolatileQuery(ofHost: "127.0.0.1")
            #expect(try fixture.store.volatileQueries().isEmpty)
            #expect(try await fixture.store.sync(contacts: people(0..<2, "b", fixture)).fetched == 2)
            #expect(try image(of: "p1", fixture) == face(1))
        }
    }

    @Test func wantedImagesUnderFormerKeysAreNotEvictedForOthers() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await fixture.store.sync(contacts: people(0..<200, "a", fixture))
            try await leaveOut("sig", in: fixture)
            try await fixture.store.set(.budget, to: 210_000)
            fixture.clock.advance(by: .seconds(60))
            // The new ones come first, and there is no room for all of them.
            let list = people(200..<300, "b", fixture) + people(0..<200, "b", fixture)
            let report = try await fixture.store.sync(contacts: list)
            #expect(report.fresh == 200)
            #expect(report.evicted == 0)
            try fixture.expectConsistent()
        }
    }

    // MARK: Advice

    @Test func hostsWhoseURLsChangeAreNamedWithTheSettingThatEndsIt() async throws {
        try await StoreFixture.withStore { fixture in
            func list(_ signature: String) -> [Contact] {
                people(0..<20, signature, fixture).map { person in
                    var person = person
                    person.avatarURL? += "&X-Amz-Date=\(signature)&X-Amz-Signature=\(signature)"
                    return person
                }
            }
            #expect(try await fixture.store.sync(contacts: list("a")).details.changingQueries.isEmpty)
            let before = fixture.origin.requestCount
            let preview = try await fixture.store.syncPreview(.contacts(list("b")))
            let changing = try #require(preview.details.changingQueries.first)
            #expect(changing.contacts == 20)
            #expect(changing.sameBytes == 0)
            #expect(changing.setting == "127.0.0.1 X-Amz-*,sig")
            #expect(fixture.origin.requestCount == before)

            let report = try await fixture.store.sync(contacts: list("b"))
            #expect(report.details.changingQueries.first?.sameBytes == 20)
            try await fixture.store.setVolatileQuery(VolatileQuery(parsing: changing.setting))
            let third = try await fixture.store.sync(contacts: list("c"))
            #expect(third.requests == 0)
            #expect(third.details.changingQueries.isEmpty)
        }
    }

    @Test func aVersionInTheQueryIsNoReasonForAdvice() async throws {
        try await StoreFixture.withStore { fixture in
            func list(_ version: Int) -> [Contact] {
                (0..<20).map { number in
                    let path = "/\(number).png?v=\(version)"
                    fixture.serve(SampleImage.png(seed: UInt64(number * 10 + version), byteCount: 500), at: path)
                    return Contact(id: "p\(number)", avatarURL: fixture.origin.url(path))
                }
            }
            _ = try await fixture.store.sync(contacts: list(1))
            #expect(try await fixture.store.sync(contacts: list(2)).details.changingQueries.isEmpty)
            #expect(try await fixture.store.syncPreview(.contacts(list(3))).details.changingQueries.isEmpty)
        }
    }
}
