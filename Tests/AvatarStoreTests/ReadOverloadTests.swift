import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// Each read takes a string, a `URL` or a key.
@Suite(.timeLimit(.minutes(5)))
struct ReadOverloadTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test func allReadsFindTheImageByStringURLAndKey() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let text = fixture.serve(face, at: "/ada.png")
            let url = try #require(URL(string: text))
            let key = try AvatarKey(url: text)

            #expect(try await store.file(for: text).source == .origin)
            #expect(try await store.file(for: url).source == .store)
            #expect(try await store.file(for: key).source == .store)
            #expect(try await store.avatar(for: text).bytes == face)
            #expect(try await store.avatar(for: url).bytes == face)
            #expect(try await store.avatar(for: key).bytes == face)
            #expect(try store.storedAvatar(for: text)?.bytes == face)
            #expect(try store.storedAvatar(for: url)?.bytes == face)
            #expect(try store.storedAvatar(for: key)?.bytes == face)
            let path = try #require(try store.localFile(for: key))
            #expect(try store.localFile(for: text) == path)
            #expect(try store.localFile(for: url, recordsAccess: false) == path)
            #expect(try store.storedFile(for: text)?.localFile == path)
            #expect(try store.storedFile(for: url)?.localFile == path)
            #expect(try store.storedFile(for: key)?.localFile == path)
            #expect(try store.withFile(for: text) { lseek($0, 0, SEEK_END) } == 4000)
            #expect(try store.withFile(for: url) { lseek($0, 0, SEEK_END) } == 4000)
            #expect(try store.withFile(for: key) { lseek($0, 0, SEEK_END) } == 4000)
            #expect(fixture.origin.requestCount == 1)
        }
    }

    @Test func literalsAreURLs() async throws {
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let image = try store.storedAvatar(for: "https://example.org/ada.png")
            let file = try store.storedFile(for: "https://example.org/ada.png")
            let path = try store.localFile(for: "https://example.org/ada.png")
            let descriptor = try store.withFile(for: "https://example.org/ada.png") { $0 }
            #expect(image == nil && file == nil && path == nil && descriptor == nil)
            await #expect { try await store.file(for: "ada.png") } throws: {
                ($0 as? AvatarStoreError)?.code == .unsupportedURL
            }
            #expect { try store.localFile(for: "ftp://example.org/a") } throws: {
                ($0 as? AvatarStoreError)?.code == .unsupportedURL
            }
        }
    }
}
