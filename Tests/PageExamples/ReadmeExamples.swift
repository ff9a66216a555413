import AvatarStore
import AvatarStoreTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeExamples {
    @Test func inYourProgram() async throws {
        try await Place.with { avatars in
            let ada = avatars.serve("/ada.png")

            let store = try await AvatarStore.open(directory: avatars)
            let people = [Contact(id: "42", name: "Ada", avatarURL: ada)]

            let report = try await store.sync(contacts: people)  // fetches, revalidates, links
            print("\(report.fetched) fetched, \(report.fresh) fresh, \(report.failed) failed")

            let image = try await store.avatar(for: ada)  // stored, else fetched
            let offline = try store.storedAvatar(for: ada)  // never the network
            print(image.mediaType, image.bytes.count, image.localFile ?? "", offline?.isStale ?? true)
            try await store.close()

            #expect([report.fetched, report.fresh, report.failed] == [1, 0, 0])
            #expect([image.bytes, offline?.bytes] == [Place.image("/ada.png"), Place.image("/ada.png")])
        }
    }
}
