import AvatarContacts
import AvatarStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct GettingStartedExamples {
    @Test func aFirstSync() async throws {
        try await Place.with { avatars in
            let ada = avatars.serve("/ada.png")

            let store = try await AvatarStore.open(directory: avatars)

            let people = [
                Contact(id: "42", name: "Ada", avatarURL: ada),
                Contact(id: "43", name: "Ben"),
            ]
            let report = try await store.sync(contacts: people)

            print("\(report.fetched) fetched, \(report.fresh) fresh, \(report.withoutImage) without an image")
            for failure in report.failures {
                print(failure.key ?? "the sync", failure.kind, failure.message)
            }

            #expect(report.fetched == 1 && report.withoutImage == 1 && report.failures.isEmpty)
            #expect(try await store.sync(contacts: people).fresh == 1)
            #expect(avatars.origin.requestCount == 1)

            if let image = try store.avatar(forContact: "42") {
                print(image.mediaType, image.width, image.height, image.bytes.count, image.localFile ?? "")
            }

            let stored = try store.storedAvatar(for: ada)
            let image = try await store.avatar(for: ada)

            #expect(try store.avatar(forContact: "42")?.bytes == image.bytes)
            #expect(stored?.bytes == Place.image("/ada.png") && image.source == .store)

            let team = avatars.path + "/team.vcf"
            try "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:1\r\nFN:Ada\r\nPHOTO:\(ada)\r\nEND:VCARD\r\n"
                .write(toFile: team, atomically: true, encoding: .utf8)

            let list = try ContactList.open(file: team)
            let ofTheTeam = try await store.sync(list, total: list.validate())

            #expect(ofTheTeam.fresh == 1)

            try await store.close()
        }
    }

    @Test func aStoreForOneTask() async throws {
        try await Place.with { avatars in
            let people = [Contact(id: "42", avatarURL: avatars.serve("/ada.png"))]

            let report = try await AvatarStore.withStore(at: avatars) { store in
                try await store.sync(contacts: people)
            }

            #expect(report.fetched == 1)
        }
    }
}
