import AvatarDigest
import AvatarMaintenance
import AvatarSQLite
import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import HTTPTypes
import Testing

/// Images with metadata, which is taken out before they are sent.
@Suite(.timeLimit(.minutes(5))) struct MetadataRouteTests {
    private static let clean = SampleImage.png(seed: 1, byteCount: 4000)
    private static let face = SampleImage.addingComment(to: clean)
    /// A TIFF with EXIF, out of which metadata cannot be taken.
    private static let tiff: [UInt8] = {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "AvatarImagesTests/Fixtures/metadata/tiff-exif.tiff")
        // Without it, the tests that need it fail.
        return (try? Array(Data(contentsOf: file))) ?? []
    }()
    private static let image = "/contacts/ada/picture"

    private static func digest(_ bytes: [UInt8]) -> String {
        SHA256.hash(bytes).map { String(format: "%02x", $0) }.joined()
    }

    /// Runs `body` with a store in which Ada has the image `bytes`.
    private func withServer(
        _ bytes: [UInt8] = MetadataRouteTests.face,
        _ configuration: AvatarResponder.Configuration = .init(),
        _ body: (StoreFixture, AvatarResponder) async throws -> Void
    ) async throws {
        #expect(!bytes.isEmpty)
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(bytes, at: "/ada")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", name: "Ada", avatarURL: url)])
            try await body(fixture, AvatarResponder(store: fixture.store, configuration: configuration))
        }
    }

    private func request(_ path: String, _ fields: HTTPFields = [:], method: HTTPRequest.Method = .get) -> HTTPRequest {
        HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
    }

    private func ask(_ responder: AvatarResponder, _ path: String, _ fields: HTTPFields = [:]) async -> Answer {
        Answer(await responder.respond(to: request(path, fields)))
    }

    @Test func firstRequestTakesItOut_andLaterOnesFindTheCopy() async throws {
        try await withServer { fixture, responder in
            #expect(responder.respondAtOnce(to: request(Self.image)) == nil)

            let first = await ask(responder, Self.image)
            let second = Answer(try #require(responder.respondAtOnce(to: request(Self.image))))

            #expect(first.status == 200 && first.bytes == Self.clean && second.bytes == Self.clean)
            let digest = Self.digest(Self.clean)
            #expect(second.fields[.eTag] == "\"\(digest)\"" && second.fields[.contentType] == "image/png")
            #expect(second.fields[.contentLocation] == "/images/\(digest).png")
            let tag = ["\"\(digest)\"", "\"\(Self.digest(Self.face))\""]
            #expect(await ask(responder, Self.image, [.ifNoneMatch: tag[0]]).status == 304)
            #expect(await ask(responder, Self.image, [.ifNoneMatch: tag[1]]).status == 200)
            let part = await ask(responder, Self.image, [.range: "bytes=30-59"])
            #expect(part.status == 206 && part.bytes == Array(Self.clean[30..<60]))
            #expect(fixture.files(in: .caches).values.sorted() == [Self.clean.count, Self.face.count])
            #expect(try fixture.store.storedAvatar(for: fixture.origin.url("/ada"))?.bytes == Self.face)
            #expect(try fixture.store.statistics().renditionBytes == Self.clean.count)
        }
    }

    @Test func pathHasTheDigestOfWhatIsSent() async throws {
        try await withServer { fixture, responder in
            let (stored, copy) = ("/images/\(Self.digest(Self.face)).png", "/images/\(Self.digest(Self.clean)).png")
            #expect(await ask(responder, copy).status == 404, "the copy is not made yet")
            _ = await ask(responder, Self.image)

            let found = Answer(try #require(responder.respondAtOnce(to: request(copy))))
            let withheld = Answer(try #require(responder.respondAtOnce(to: request(stored))))
            let reason = try withheld.object()["reason"] as? String

            #expect(found.bytes == Self.clean && found.fields[.cacheControl] == "public, max-age=31536000, immutable")
            #expect(withheld.isProblem && withheld.status == 404 && reason == "metadata")
            #expect(await ask(responder, stored + "?size=96").status == 404)
            let all = AvatarResponder(store: fixture.store, configuration: .init(servesMetadata: true))
            #expect(await ask(all, stored).bytes == Self.face)
            // The meaning of such a path does not depend on the setting.
            #expect(await ask(all, copy).bytes == Self.clean)
        }
    }

    @Test func optionAndSettingLetItOut() async throws {
        try await withServer(Self.face, .init(servesMetadata: true)) { fixture, responder in
            let answer = Answer(try #require(responder.respondAtOnce(to: request(Self.image))))
            #expect(answer.bytes == Self.face && answer.fields[.eTag] == "\"\(Self.digest(Self.face))\"")
            #expect(fixture.files(in: .caches).count == 1)

            try await fixture.store.set(.servesMetadata, to: 1)
            let bySetting = AvatarResponder(store: fixture.store)
            #expect(await ask(bySetting, Self.image).bytes == Self.face)
            try await fixture.store.set(.servesMetadata, to: 0)
            #expect(await ask(AvatarResponder(store: fixture.store), Self.image).bytes == Self.clean)
        }
    }

    @Test func imageWhoseMetadataCannotBeTakenOutIsNotSent() async throws {
        try await withServer(Self.tiff) { fixture, responder in
            for path in [Self.image, Self.image + "?size=96", "/images/\(Self.digest(Self.tiff)).tiff"] {
                let answer = await ask(responder, path)
                let reason = try answer.object()["reason"] as? String
                #expect(answer.isProblem && answer.status == 404 && reason == "metadata", "\(path)")
            }
            let initials = await ask(responder, Self.image + "?placeholder=initials")
            #expect(initials.status == 200 && initials.text.contains("<svg"))
            #expect(fixture.files(in: .caches).count == 1)
        }
    }

    @Test func renditionTakesThePlaceOfSuchAnImage() async throws {
        let maker = SampleMaker()
        try await StoreFixture.withStore {
            $0.renditions = maker
        } _: { fixture in
            let url = fixture.serve(Self.tiff, at: "/ada")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", name: "Ada", avatarURL: url)])
            let responder = AvatarResponder(store: fixture.store)

            let answer = await ask(responder, Self.image)
            let again = Answer(try #require(responder.respondAtOnce(to: request(Self.image))))

            #expect(answer.status == 200 && answer.bytes.count == 1000 && again.bytes == answer.bytes)
            #expect(maker.count == 1)
            #expect(answer.fields[.contentLocation] == nil, "no path has the digest of a rendition")
        }
    }

    @Test func renditionOfAnImageWithMetadataNeedsNoCopy() async throws {
        let maker = SampleMaker()
        try await StoreFixture.withStore {
            $0.renditions = maker
        } _: { fixture in
            let url = fixture.serve(Self.face, at: "/ada")
            _ = try await fixture.store.sync(contacts: [Contact(id: "ada", name: "Ada", avatarURL: url)])
            let responder = AvatarResponder(store: fixture.store)

            let sized = await ask(responder, Self.image + "?size=32")
            #expect(sized.bytes.count == 1000 && sized.fields[.contentLocation] == nil)
            #expect(fixture.files(in: .caches).count == 2)
            _ = await ask(responder, Self.image)
            let location = await ask(responder, Self.image + "?size=32").fields[.contentLocation]
            #expect(location == "/images/\(Self.digest(Self.clean)).png?size=32")
            let path = try #require(location)
            #expect(await ask(responder, path).bytes == sized.bytes)
        }
    }

    @Test func addressesOfSuchImagesAreNotTold() async throws {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.keepAddresses, to: 1)
            let url = fixture.serve(Self.tiff, at: "/ada")
            var ada = Contact(id: "ada", name: "Ada", avatarURL: url)
            ada.emails = ["ada@example.com"]
            var eve = Contact(id: "eve", name: "Eve", avatarURL: fixture.serve(Self.face, at: "/eve"))
            eve.emails = ["eve@example.com"]
            _ = try await fixture.store.sync(contacts: [ada, eve])
            let responder = AvatarResponder(store: fixture.store, configuration: .init(answersLibravatar: true))
            func path(_ address: String) -> String { "/avatar/\(Self.digest(Array(address.utf8)))?d=404" }

            let withheld = await ask(responder, path("ada@example.com"))
            let unknown = await ask(responder, path("unknown@example.com"))

            #expect(withheld.status == 404 && withheld.bytes == unknown.bytes)
            #expect(await ask(responder, path("eve@example.com")).bytes == Self.clean)
        }
    }

    @Test func readOnlyStoreGivesAViewOfTheFile() async throws {
        let large = SampleImage.png(seed: 3, byteCount: 200_000)
        try await withServer(SampleImage.addingComment(to: large)) { fixture, _ in
            let store = try await fixture.openAgain { $0.access = .readOnly }
            let responder = AvatarResponder(store: store)

            let answer = await ask(responder, Self.image)
            let part = await ask(responder, Self.image, [.range: "bytes=10-99999"])

            #expect(answer.bytes == large && answer.fields[.eTag] == "\"\(Self.digest(large))\"")
            #expect(answer.fields[.contentLength] == "200000" && answer.fields[.contentLocation] == nil)
            #expect(part.status == 206 && part.bytes == Array(large[10..<100_000]))
            #expect(fixture.files(in: .caches).count == 1)
            try await store.close()
        }
    }

    @Test func withoutRoomACopyIsNotStored() async throws {
        try await withServer { fixture, responder in
            try await fixture.store.set(.renditionBudget, to: 100)

            #expect(await ask(responder, Self.image).bytes == Self.clean)
            #expect(fixture.files(in: .caches).count == 1)
        }
    }

    @Test func fileOfAnEarlierVersionIsLookedAtFirst() async throws {
        for bytes in [Self.face, Self.clean] {
            try await withServer(bytes) { fixture, responder in
                try Connection.using(fixture.store.configuration.layout.indexPath) {
                    try $0.execute("UPDATE file SET has_metadata = NULL")
                }
                #expect(responder.respondAtOnce(to: request(Self.image)) == nil)

                #expect(await ask(responder, Self.image).bytes == Self.clean)

                #expect(responder.respondAtOnce(to: request(Self.image)) != nil)
                let key = try AvatarKey(url: fixture.origin.url("/ada"))
                let details = try fixture.store.details(for: key)
                #expect(details?.hasMetadata == (bytes == Self.face))
            }
        }
    }

    @Test func copyGoesWithItsOriginal() async throws {
        try await withServer { fixture, responder in
            _ = await ask(responder, Self.image)
            #expect(fixture.files(in: .caches).count == 2)

            fixture.serve(Self.clean, at: "/ada")
            _ = try await fixture.store.avatar(for: fixture.origin.url("/ada"), options: FetchOptions(policy: .reload))

            #expect(fixture.files(in: .caches).count == 1)
            #expect(await ask(responder, Self.image).bytes == Self.clean)
        }
    }

    @Test func pageLinksToAnImageThatIsSent() async throws {
        try await withServer { _, responder in
            let page = await ask(responder, "/contacts/ada").text
            #expect(!page.contains("/images/\(Self.digest(Self.face))"))
            #expect(page.contains("href=\"\(Self.image)\""))
        }
    }
}
