import AvatarMaintenance
import AvatarProviders
import AvatarSQLite
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// An erasure leaves nothing of a contact anywhere in the store's directory.
@Suite(.timeLimit(.minutes(5)))
struct ErasureTests {
    @Test func neitherBytesNorURLNorContactAreLeft() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let face = SampleImage.png(seed: 1, byteCount: 4000)
            let logo = SampleImage.png(seed: 2, byteCount: 4000)
            let url = fixture.serve(face, at: "/secret-face.png", etag: "\"secret-tag\"")
            let shared = fixture.serve(logo, at: "/shared-logo.png")
            for number in 0..<300 { fixture.serve(SampleImage.png(seed: 10, byteCount: 300), at: "/\(number).png") }
            let others = (0..<300).map { Contact(id: "other-\($0)", avatarURL: fixture.origin.url("/\($0).png")) }
            _ = try await store.sync(contacts: others + [Contact(id: "secret-person", avatarURL: shared)])
            _ = try await store.sync(contacts: others + [Contact(id: "secret-person", avatarURL: url)])
            _ = try await store.sync(contacts: [Contact(id: "a friend", avatarURL: shared)])
            #expect(try fixture.find("secret-person") != [] && fixture.find("secret-face") != [])
            #expect(try fixture.find(face.suffix(64)) != [])

            let receipt = try await store.remove(contact: "secret-person", erasing: true)

            #expect(receipt.rows == 1 && receipt.files == 1 && receipt.bytes == face.count)
            #expect(receipt.isErased && receipt.traces == [])
            for text in ["secret-person", "secret-face", "secret-tag"] {
                #expect(try fixture.find(text) == [], "\(text)")
            }
            #expect(try fixture.find(face.suffix(64)) == [])
            // An image that others use stays.
            #expect(try store.storedAvatar(for: AvatarKey(url: shared))?.bytes == logo)
            try fixture.expectConsistent()
        }
    }

    @Test func imagesThatTheContactHadBeforeAreErasedToo() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let former = SampleImage.png(seed: 1, byteCount: 4000)
            let shared = fixture.serve(SampleImage.png(seed: 2, byteCount: 4000), at: "/shared.png")
            let urls = [
                fixture.serve(former, at: "/secret-former.png"), shared,
                fixture.serve(SampleImage.png(seed: 3, byteCount: 4000), at: "/secret-latter.png"),
            ]
            for url in urls {
                _ = try await store.sync(contacts: [Contact(id: "secret-person", avatarURL: url)])
            }
            _ = try await store.sync(contacts: [Contact(id: "a friend", avatarURL: shared)])
            // The contact left the list, so no image is linked to it any more.
            var options = SyncOptions()
            options.prunes = true
            _ = try await store.sync(contacts: [Contact(id: "a friend", avatarURL: shared)], options: options)
            #expect(try store.imageKeys(ofContact: "secret-person") == [] && fixture.find("secret-former") != [])

            let receipt = try await store.remove(contact: "secret-person", erasing: true)

            #expect(receipt.rows == 2 && receipt.files == 2 && receipt.isErased)
            #expect(try fixture.find("secret") == [] && fixture.find(former.suffix(64)) == [])
            #expect(try store.avatar(forContact: "a friend") != nil)
            try fixture.expectConsistent()
        }
    }

    /// A client that fails, and names the image in its messages in its own way.
    private struct TalkativeClient: OriginClient {
        func begin(
            _ request: OriginRequest,
            arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
        ) -> any BegunRequest {
            OriginTask(arrival) {
                request.willSend()
                let name = request.url.split(separator: "/").last?.prefix { $0 != "." } ?? ""
                throw OriginError(.unreachable, "no answer for \(name) at \(request.url)")
            }
        }
    }

    @Test func sentencesAboutFailuresAreErasedToo() async throws {
        try await StoreFixture.withStore {
            $0.originClient = TalkativeClient()
        } _: { fixture in
            let contacts = ["secret-face.png?token=secret-token", "friend.png"].enumerated().map { number, path in
                Contact(id: "\(number)", avatarURL: "https://images.example/\(path)")
            }
            _ = try await fixture.store.sync(contacts: contacts, options: SyncOptions(connectionsPerHost: 1))
            let health = try fixture.store.statistics().failingHosts
            #expect(health.first?.message?.contains("secret-token") == false)
            // The last failure may be the one of the other contact, so the first one is repeated.
            let url = try #require(contacts[0].avatarURL)
            await #expect(throws: AvatarStoreError.self) {
                _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            }
            #expect(try fixture.store.statistics().failingHosts.first?.message?.contains("secret-face") == true)

            let receipt = try await fixture.store.remove(contact: "0", erasing: true)

            #expect(receipt.isErased && receipt.traces == [])
            #expect(try fixture.find("secret") == [])
            #expect(try fixture.store.statistics().failingHosts.count == 1)
        }
    }

    @Test func hostsOfRedirectsAreErasedToo() async throws {
        try await StoreFixture.withStore { fixture in
            let target = "http://localhost:\(fixture.origin.port)/face.png"
            fixture.origin.setResponse(.status(500), for: "/face.png")
            fixture.origin.setResponse(.redirect(to: target), for: "/ada.png")
            let url = fixture.origin.url("/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            #expect(try fixture.find("localhost") != [])

            #expect(try await fixture.store.remove(contact: "ada", erasing: true).isErased)

            #expect(try fixture.find("localhost") == [])
        }
    }

    /// With `scripts/test --thorough`, for three seeds.
    @Test(arguments: ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1" ? [1, 7, 99] : [7] as [UInt64])
    func rowsThatMovedAboutLeaveNoTraceEither(seed: UInt64) async throws {
        try await StoreFixture.withStore { fixture in
            let face = SampleImage.png(seed: 1, byteCount: 300)
            var random = SplitMix64(seed: seed)
            let contacts = (0..<600).map { number in
                Contact(id: "person-\(number)-end", avatarURL: fixture.serve(face, at: "/face-\(number)-end.png"))
            }.shuffled(using: &random)
            _ = try await fixture.store.sync(contacts: contacts)

            for number in (0..<600).shuffled(using: &random).prefix(40) {
                #expect(try await fixture.store.remove(contact: "person-\(number)-end", erasing: true).isErased)
                #expect(try fixture.find("person-\(number)-end") == [])
                #expect(try fixture.find("face-\(number)-end") == [])
            }
        }
    }

    /// The image that a contact had before is known from the feed alone.
    @Test func formerImageIsErased_afterTheErasureOfAnotherContact() async throws {
        try await StoreFixture.withStore { fixture in
            let face = SampleImage.png(seed: 1, byteCount: 300)
            let other = SampleImage.png(seed: 2, byteCount: 300)
            let former = fixture.serve(face, at: "/former.png")
            let ada = Contact(id: "ada", avatarURL: fixture.serve(other, at: "/ada.png"))
            _ = try await fixture.store.sync(contacts: [ada, Contact(id: "ben", avatarURL: former)])
            let now = Contact(id: "ben", avatarURL: fixture.serve(other, at: "/now.png"))
            _ = try await fixture.store.sync(contacts: [ada, now])
            let key = try AvatarKey(url: former)
            #expect(try fixture.store.details(for: key) != nil)

            #expect(try await fixture.store.remove(contact: "ada", erasing: true).isErased)
            #expect(try await fixture.store.remove(contact: "ben", erasing: true).isErased)

            #expect(try fixture.store.details(for: key) == nil)
            #expect(try fixture.find("former") == [])
        }
    }

    @Test func setAsideAndPartialFilesAreErasedToo() async throws {
        try await StoreFixture.withStore { fixture in
            let face = SampleImage.png(seed: 1, byteCount: 4000)
            let url = fixture.serve(face, at: "/secret-face.png")
            var options = SyncOptions()
            options.storage = .documents
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)], options: options)
            let path = try #require(try fixture.store.storedAvatar(for: AvatarKey(url: url))?.localFile)
            let name = path.split(separator: "/").suffix(2).joined(separator: "-")
            let folder = fixture.directory + "/set-aside"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: path, toPath: folder + "/documents-" + name)
            try Data("secret-face".utf8).write(to: URL(filePath: fixture.directory + "/index.sqlite.damaged-2026"))
            try Data("of somebody else".utf8).write(to: URL(filePath: folder + "/documents-00-000000-0.png"))

            let receipt = try await fixture.store.remove(AvatarKey(url: url), erasing: true)

            #expect(receipt.isErased)
            #expect(try fixture.find("secret-face") == [] && fixture.find(face.suffix(64)) == [])
            #expect(try fixture.find("of somebody else") != [])
        }
    }

    @Test func erasingAContactRemovesItsPartialDownload() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 4000), at: "/secret-face.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            let partial = fixture.directory + "/staging/partial"
            try FileManager.default.createDirectory(atPath: partial, withIntermediateDirectories: true)
            try Data("half a face".utf8).write(to: URL(filePath: partial + "/00000000000000c1"))
            try fixture.run(
                """
                INSERT INTO partial_download (key, storage_class, name, url, etag, size_bytes, total_bytes, updated_ms)
                VALUES (?1, 1, '00000000000000c1', ?1, '"e"', 11, 4000, 0)
                """,
                url
            )

            let receipt = try await fixture.store.remove(contact: "ada", erasing: true)

            #expect(receipt.isErased)
            #expect(try fixture.find("half a face") == [] && fixture.find("secret-face") == [])
        }
    }

    enum LateAnswer: CaseIterable, Sendable { case confirmed, changed, gone, brokenOff }

    @Test("an erasure during a sync's request", arguments: LateAnswer.allCases)
    func aSyncBringsNothingBack(_ answer: LateAnswer) async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let gate = LoopbackOrigin.Gate()
            let face = SampleImage.png(seed: 1, byteCount: 4_000)
            let url = fixture.serve(face, at: "/secret-face.png", etag: "\"1\"")
            _ = try await store.sync(contacts: [Contact(id: "secret-person", avatarURL: url)])
            let other = SampleImage.png(seed: 2, byteCount: 200_000)
            let response: LoopbackOrigin.Response =
                switch answer {
                case .confirmed: .image(face, etag: "\"1\"")
                case .changed: .image(other, etag: "\"2\"")
                case .gone: .status(404)
                case .brokenOff: .image(other, etag: "\"2\"").behaving(.cutShort(after: 150_000))
                }
            fixture.origin.setResponse(response.held(by: gate), for: "/secret-face.png")
            fixture.clock.advance(by: .seconds(86_400 * 365))
            async let report = store.sync()
            try await fixture.origin.waitForRequests(2)

            _ = try await store.remove(contact: "secret-person", erasing: true)
            gate.open()
            _ = try await report

            #expect(try store.list().items.isEmpty)
            #expect(try await store.remove(contact: "secret-person", erasing: true).isErased)
            #expect(try fixture.find("secret-face") == [] && fixture.find("secret-person") == [])
            for bytes in [face, other] { #expect(try fixture.find(bytes[2_000..<2_064]) == []) }
            try fixture.expectConsistent()
        }
    }

    /// Syncs one contact after the other, each with an image of its own.
    private func sync(_ names: [String], _ fixture: StoreFixture) async throws {
        for (number, name) in names.enumerated() {
            let face = SampleImage.png(seed: UInt64(number + 1), byteCount: 4000)
            let url = fixture.serve(face, at: "/\(name).png")
            _ = try await fixture.store.sync(contacts: [Contact(id: name, avatarURL: url)])
        }
    }

    private func expectStartOver(_ store: AvatarStore, after positions: [Int64]) {
        for position in positions {
            #expect {
                try store.changes(since: position)
            } throws: {
                ($0 as? AvatarStoreError)?.code == .startOver
            }
        }
    }

    @Test func readersOfTheFeedLearnOfAnErasure_evenIfTheyHadReadAllChanges() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            try await sync(["ada", "ben"], fixture)
            let last = try store.lastChange()

            _ = try await store.remove(contact: "ada", erasing: true)

            for position in [0, last - 1, last] {
                let event = try #require(try store.changes(since: position).last)
                #expect(event.kind == .erased)
                #expect(event.erases(contact: "ada") && !event.erases(contact: "ben"))
                #expect(event.contacts.isEmpty && event.digest.isEmpty && !event.key.rawValue.contains("ada"))
                #expect(event.erased?.salt.count == 32)
            }
            #expect(try store.changes(since: 0).map(\.kind) == [.added, .erased])
            let next = try store.lastChange()
            #expect(try next > last && store.changes(since: next).isEmpty)
            // Nothing was erased, so there is nothing to tell.
            _ = try await store.remove(contact: "nobody", erasing: true)
            #expect(try store.lastChange() == next)
            // The same contact again has another salt.
            try await sync(["ada"], fixture)
            _ = try await store.remove(contact: "ada", erasing: true)
            let events = try store.changes(since: 0).compactMap(\.erased)
            #expect(Set(events.map(\.sha256)).count == 2 && events.allSatisfy { $0.isContact("ada") })
        }
    }

    /// `printf '%s%s' "$salt" "$id" | sha256sum`
    @Test func anIdIsHashedAsTheDocumentationSays() {
        let mark = ErasedContact("ada", salt: "00112233445566778899aabbccddeeff")
        #expect(mark.sha256 == "8799b95d896bb201fc7c8b39642eec53d0b955fbd83ddba35c1c154238318531")
        #expect(mark.isContact("ada") && !mark.isContact("Ada"))
    }

    @Test func readersStartOver_ifTheFeedCannotTellWhatWasErased() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            try await sync(["ada", "ben", "cid"], fixture)
            let last = try store.lastChange()
            let key = try AvatarKey(url: fixture.origin.url("/ada.png"))
            _ = try await store.remove(key, erasing: true)
            expectStartOver(store, after: [0, last])

            // An image that the contact had before may be one that a reader knows without the contact.
            let now = try store.lastChange()
            let url = fixture.serve(SampleImage.png(seed: 9, byteCount: 4000), at: "/other.png")
            _ = try await store.sync(contacts: [Contact(id: "ben", avatarURL: url)])
            #expect(try await store.remove(contact: "ben", erasing: true).rows == 2)
            expectStartOver(store, after: [0, last, now])

            // An erasure that the feed tells does not bring back numbers that it has lost.
            let end = try store.lastChange()
            _ = try await store.remove(contact: "cid", erasing: true)
            expectStartOver(store, after: [0, now, end - 1])
            #expect(try store.changes(since: end).map(\.kind) == [.erased])
        }
    }

    /// A program of version 0.2 on the same index meets no row that it does not know.
    @Test func olderProgramsStartOver() async throws {
        try await StoreFixture.withStore { fixture in
            try await sync(["ada", "ben"], fixture)
            _ = try await fixture.store.remove(contact: "ada", erasing: true)
            let last = try fixture.store.lastChange()
            try Connection.using(fixture.directory + "/index.sqlite") { connection in
                let floor = try connection.integer("SELECT floor FROM change_feed")
                #expect(floor == last)
            }
        }
    }

    @Test func receiptTellsWhetherSomethingIsBack() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            try await sync(["ada", "ben"], fixture)
            let receipt = try #require(try await store.remove(contact: "ada", erasing: true).erasure)
            #expect(receipt.id == "ada" && receipt.keys.count == 1 && receipt.images.count == 1)
            #expect(receipt.contactSHA256 == (try store.changes().last?.erased?.sha256))
            #expect(try await store.remnants(of: receipt).isEmpty)
            let again = try JSONDecoder().decode(ErasureReceipt.self, from: JSONEncoder().encode(receipt))
            #expect(again == receipt)

            // The face of the contact under another contact's name and URL.
            let face = SampleImage.png(seed: 1, byteCount: 4000)
            let other = fixture.serve(face, at: "/cid.png")
            _ = try await store.sync(contacts: [Contact(id: "cid", avatarURL: other)])
            let image = try await store.remnants(of: receipt)
            #expect(image.map(\.kind) == [.image] && image[0].place.contains("/cid.png"))
            _ = try await store.remove(contact: "cid", erasing: true)
            #expect(try await store.remnants(of: receipt).isEmpty)

            // A list that still has it.
            try await sync(["ada"], fixture)
            let kinds = Set(try await store.remnants(of: receipt).map(\.kind))
            #expect(kinds == [.contact, .change, .entry, .image])

            // Bytes of which the index does not know.
            let second = try #require(try await store.remove(contact: "ada", erasing: true).erasure)
            #expect(try await store.remnants(of: second).isEmpty)
            let digits = try #require(second.images.first)
            let folder = fixture.directory + "/caches/" + digits.prefix(2)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let name = "\(folder)/\(digits.dropFirst(2).prefix(6))0123456789abcdef.png"
            try Data(face).write(to: URL(filePath: name))
            #expect(try await store.remnants(of: second).map(\.kind) == [.image])
            try FileManager.default.removeItem(atPath: name)
        }
    }

    @Test func aRemovalWithoutErasureStaysInTheFeed() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 4000), at: "/ada.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])

            let receipt = try await fixture.store.remove(contact: "ada")

            #expect(!receipt.isErased)
            #expect(try fixture.store.changes().map(\.kind) == [.added, .removed])
        }
    }

    @Test func erasingAgainFinishesWhatWasInterrupted() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 4000), at: "/secret-face.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "secret-person", avatarURL: url)])
            _ = try await fixture.store.remove(contact: "secret-person")

            let receipt = try await fixture.store.remove(contact: "secret-person", erasing: true)

            #expect(receipt.isErased && receipt.rows == 0)
            #expect(try fixture.find("secret-person") == [] && fixture.find("secret-face") == [])
        }
    }

    @Test func aReaderOfAnOlderSnapshotKeepsTraces() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(SampleImage.png(seed: 1, byteCount: 4000), at: "/secret-face.png")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            let reader = try Connection(path: fixture.directory + "/index.sqlite", access: .readOnly)
            try reader.execute("BEGIN; SELECT count(*) FROM avatar")

            let receipt = try await fixture.store.remove(contact: "ada", erasing: true)

            #expect(receipt.rows == 1 && !receipt.isErased)
            try reader.close()
        }
    }
}

extension StoreFixture {
    /// The files in the store's directory whose bytes or names contain `text`.
    func find(_ text: String) throws -> [String] {
        try find(Array(text.utf8)[...])
    }

    func find(_ bytes: ArraySlice<UInt8>) throws -> [String] {
        let sought = Data(bytes)
        var found: [String] = []
        for case let path as String in FileManager.default.enumerator(atPath: directory) ?? .init() {
            var isFolder: ObjCBool = false
            let file = directory + "/" + path
            guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            // Not with the C library's open and close: closing a database file drops SQLite's locks on it.
            let content =
                file.contains("index.sqlite") ? try Self.copied(file) : try Data(contentsOf: URL(filePath: file))
            if content.range(of: sought) != nil || Data(path.utf8).range(of: sought) != nil { found.append(path) }
        }
        return found
    }

    /// The content of a file as another process reads it.
    private static func copied(_ file: String) throws -> Data {
        guard let stream = popen("exec cat '\(file)'", "re") else { throw POSIXError(.ENOMEM) }
        var content = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { content += buffer[..<count] }
        guard pclose(stream) == 0 else { throw POSIXError(.EIO) }
        return content
    }

    /// Runs SQL on the index, without the store.
    fileprivate func run(_ sql: String, _ text: String) throws {
        try Connection.using(directory + "/index.sqlite") { try $0.statement(sql).run([text]) }
    }
}
