import AvatarDigest
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Images of contacts with the digest of their bytes, as a server reads them.
@Suite(.timeLimit(.minutes(5)))
struct ImageTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let photo = SampleImage.png(seed: 2, byteCount: 3000)

    private func digest(_ bytes: [UInt8]) -> String {
        SHA256.hash(bytes).map { String(format: "%02x", $0) }.joined()
    }

    @Test func imageHasTheDigestAndTheBytesOfItsFile() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: fixture.serve(face, at: "/a.png"))])

            let image = try #require(try store.image(of: "ada"))
            let open = try #require(try store.open(image))

            #expect(image.sha256 == digest(face) && image.sizeBytes == 4000 && image.mediaType == "image/png")
            #expect(image.published == fixture.clock.now())
            #expect(image.freshUntil.map { $0 > fixture.clock.now() } == true)
            #expect(try open.bytes(at: 0, count: 9999) == face)
            #expect(try open.bytes(at: 3990, count: 9999) == Array(face[3990...]))
            let same = try #require(try store.image(withDigest: image.sha256))
            #expect(same.key == image.key && same.sha256 == image.sha256)
            #expect(try store.image(of: "ben") == nil)
            for text in ["", "00", String(repeating: "0", count: 64), String(repeating: "x", count: 64)] {
                #expect(try store.image(withDigest: text) == nil)
            }
            try fixture.expectConsistent()
        }
    }

    @Test func ownPhotoComesBeforeTheFetchedImage_andThatBeforeAnEmailSource() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let url = fixture.serve(face, at: "/z.png")
            let both = Contact(id: "ada", images: [.url(url), .photo(ContactPhoto(bytes: photo))])
            _ = try await store.sync(contacts: [both])
            #expect(try store.image(of: "ada")?.sha256 == digest(photo))
            #expect(try store.image(of: "ada")?.freshUntil == nil)

            _ = try await store.sync(contacts: [Contact(id: "ada", avatarURL: url)])
            let email = try AvatarKey(emailImageAt: fixture.serve(photo, at: "/a.png"))
            _ = try await store.avatar(for: email)
            try await store.link([ContactLink(contact: "ada", key: email)])

            #expect(try store.imageKeys(ofContact: "ada").map(\.isEmailImage) == [false, true])
            #expect(try store.image(of: "ada")?.sha256 == digest(face))
            try fixture.expectConsistent()
        }
    }

    @Test func openImageStaysReadableWhenTheImageIsReplaced() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let contact = Contact(id: "ada", avatarURL: fixture.serve(face, at: "/a.png", etag: "\"1\""))
            _ = try await store.sync(contacts: [contact])
            let old = try #require(try store.image(of: "ada"))
            let open = try #require(try store.open(old))
            fixture.serve(photo, at: "/a.png", etag: "\"2\"")
            var options = SyncOptions()
            options.checksAll = true

            _ = try await store.sync(contacts: [contact], options: options)

            #expect(try open.bytes(at: 0, count: 9999) == face)
            #expect(try store.open(old) == nil)
            #expect(try store.image(of: "ada")?.sha256 == digest(photo))
            #expect(try store.image(withDigest: old.sha256) == nil)
            try fixture.expectConsistent()
        }
    }
}
