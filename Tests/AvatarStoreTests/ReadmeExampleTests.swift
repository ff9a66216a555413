import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// The README's example, compiled and run: only its directory and URL are others.
struct ReadmeExampleTests {
    @Test func exampleDoesWhatItSays() async throws {
        let origin = try await LoopbackOrigin.start()
        let picture = SampleImage.identicon(for: "ada")
        origin.setResponse(.image(picture, etag: "\"1\""), for: "/ada.png")
        var configuration = AvatarStore.Configuration(directory: NSTemporaryDirectory() + UUID().uuidString)
        configuration.http.allowsPrivateNetworks = true

        let store = try await AvatarStore.open(configuration)
        let people = [Contact(id: "42", name: "Ada", avatarURL: origin.url("/ada.png"))]

        let report = try await store.sync(contacts: people)  // fetches, revalidates, links
        #expect(report.fetched == 1 && report.fresh == 0 && report.failed == 0)

        let image = try await store.avatar(for: origin.url("/ada.png"))  // stored, else fetched
        let offline = try store.storedAvatar(for: origin.url("/ada.png"))  // never the network
        #expect(image.bytes == picture && offline?.bytes == picture)
        try await store.close()

        try await origin.stop()
        try FileManager.default.removeItem(
            atPath: (configuration.layout.cachesRoot as NSString).deletingLastPathComponent
        )
    }

    @Test func readmeShowsTheSameCalls() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let calls = [
            "import AvatarStore",
            "try await AvatarStore.open(directory:",
            "[Contact(id: \"42\", name: \"Ada\", avatarURL:",
            "let report = try await store.sync(contacts: people)",
            "let image = try await store.avatar(for:",
            "let offline = try store.storedAvatar(for:",
            "try await store.close()",
        ]
        for call in calls { #expect(readme.contains(call)) }
    }
}
