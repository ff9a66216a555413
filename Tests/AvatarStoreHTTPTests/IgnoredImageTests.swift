import AvatarFiles
import AvatarStore
import AvatarStoreHTTP
import AvatarStoreTesting
import Foundation
import Testing

/// The response for an ignored image is that for no image.
@Suite(.timeLimit(.minutes(5))) struct IgnoredImageTests {
    @Test func ignoredImageGivesTheSameResponseAsNone() async throws {
        try await ResponderFixture.with { fixture in
            let digest = Hexadecimal.text(ContentDigest.sha256(ResponderFixture.face))
            #expect(fixture.ask("/contacts/ada/picture").status == 200)
            let last = try fixture.store.store.lastChange()

            try await fixture.store.store.ignore(digests: [digest])

            let ignored = fixture.ask("/contacts/ada/picture")
            let none = fixture.ask("/contacts/ben/picture")
            #expect(ignored.status == 404 && none.status == 404 && ignored.isProblem)
            #expect(ignored.fields[.cacheControl] == none.fields[.cacheControl])
            let initials = fixture.ask("/contacts/ada/picture?placeholder=initials")
            #expect(initials.status == 200 && initials.fields[.contentType]?.hasPrefix("image/svg+xml") == true)
            #expect(fixture.ask("/images/\(digest).png").status == 404)
            let contacts = try #require(try fixture.ask("/contacts").object()["contacts"] as? [[String: Any]])
            #expect(contacts.filter { $0["state"] as? String == "ignored" }.count == 2)
            let changes = try #require(
                try fixture.ask("/changes?since=\(last)").object()["changes"] as? [[String: Any]]
            )
            #expect(changes.map { $0["kind"] as? String } == ["removed"])
            #expect(fixture.ask("/").text.contains(">ignored<"))
        }
    }
}
