import AvatarStore
import Testing

/// The example on the landing page of the catalogue.
@Suite(.timeLimit(.minutes(5)))
struct AvatarStoreExamples {
    @Test func inThreeLines() async throws {
        try await Place.with { avatars in
            let people = [Contact(id: "42", avatarURL: avatars.serve("/ada.png"))]

            let store = try await AvatarStore.open(directory: avatars)
            let report = try await store.sync(contacts: people)
            let image = try store.avatar(forContact: "42")

            #expect(report.fetched == 1)
            #expect(image?.bytes == Place.image("/ada.png"))
            try await store.close()
        }
    }
}
