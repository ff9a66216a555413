import AsyncHTTPClient
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// The built service against a real CardDAV server and a real origin of pictures.
@Suite(.enabled(if: Radicale.path != nil, "Radicale is not installed."), .serialized)
struct ContactsSyncServiceTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let other = SampleImage.png(seed: 2, byteCount: 4000)
    private let third = SampleImage.png(seed: 3, byteCount: 4000)

    @Test func picturesFollowTheAddressBook() async throws {
        try await withServers { servers in
            let radicale = servers.radicale
            try await radicale.put("ada", servers.inline(face))
            try await radicale.put("ben", servers.linked(other, at: "/ben.png"))
            try await radicale.put("carl")
            let service = try await servers.startService()
            defer { service.program.kill() }

            // The first round reads all cards.
            #expect(try await eventually { try await service.picture("ben").bytes == other })
            #expect(try await service.picture("ada").bytes == face)
            #expect(try await service.picture("carl").status == 404)
            let placeholder = try await service.picture("carl?placeholder=initials")
            #expect(placeholder.status == 200 && placeholder.mediaType == "image/svg+xml")
            // The name is that of the card.
            #expect(String(decoding: placeholder.bytes, as: UTF8.self).contains(">C</text>"))
            let first = try await service.changes(since: 0)
            #expect(
                Set(try #require(first.changes).map { "\($0.kind) \($0.owners)" })
                    == [#"added ["ada"]"#, #"added ["ben"]"#]
            )
            let beyond = try await service.changes(since: first.next + 1)
            #expect(beyond.startOver == true && beyond.next == first.next)

            // Later rounds read what changed: other bytes, another URL, a new contact.
            try await radicale.put("ada", servers.inline(other))
            try await radicale.put("ben", servers.linked(third, at: "/ben-2.png"))
            try await radicale.put("dora", servers.linked(third, at: "/dora.png"))
            #expect(try await eventually { try await service.picture("dora").bytes == third })
            #expect(try await eventually { try await service.picture("ben").bytes == third })
            #expect(try await service.picture("ada").bytes == other)
            let second = try await service.changes(since: first.next)
            let changes = try #require(second.changes)
            #expect(Set(changes.flatMap(\.owners)) == ["ada", "ben", "dora"])
            #expect(changes.contains { $0.kind == "changed" && $0.owners == ["ada"] })

            // A deleted card removes its contact's picture.
            try await radicale.delete("ben")
            #expect(try await eventually { try await service.picture("ben").status == 404 })
            let last = try await service.changes(since: second.next)
            #expect(last.changes?.map { "\($0.kind) \($0.owners)" } == [#"removed ["ben"]"#])
            #expect(try await eventually { service.program.text.contains("0 cards read, 1 gone, all well") })
            #expect(try await service.program.terminate() == 0, "\(service.program.text)")
            #expect(service.program.text.contains("closed"))
        }
    }

    @Test func aForgottenSyncTokenLeadsToAFullComparison() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.inline(face))
            try await servers.radicale.put("ben", servers.inline(other))
            let service = try await servers.startService()
            #expect(try await eventually { try await service.picture("ben").bytes == other })
            // While the service is stopped, one card is deleted, one is added, and the server forgets its tokens.
            #expect(try await service.program.terminate() == 0, "\(service.program.text)")
            try await servers.radicale.delete("ben")
            try await servers.radicale.put("carl", servers.inline(third))
            try servers.radicale.forgetTokens()

            let again = try await servers.startService()
            defer { again.program.kill() }

            #expect(try await eventually { try await again.picture("carl").bytes == third })
            #expect(try await eventually { try await again.picture("ben").status == 404 })
            #expect(try await again.picture("ada").bytes == face)
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func aRestartedServiceContinues() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.linked(face, at: "/ada.png"))
            let service = try await servers.startService()
            #expect(try await eventually { try await service.picture("ada").bytes == face })
            #expect(try await eventually { service.rounds > 1 })
            #expect(try await service.program.terminate() == 0, "\(service.program.text)")
            let requests = servers.origin.requestCount
            try await servers.radicale.put("ben", servers.linked(other, at: "/ben.png"))

            let again = try await servers.startService()
            defer { again.program.kill() }

            #expect(try await again.picture("ada").bytes == face)
            #expect(try await eventually { try await again.picture("ben").bytes == other })
            #expect(servers.origin.requestCount == requests + 1)
            #expect(try await eventually { again.program.text.contains("1 cards read, 0 gone, all well") })
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func aShutdownDoesNotWaitForASlowPicture_andTheNextStartFetchesIt() async throws {
        try await withServers { servers in
            let gate = LoopbackOrigin.Gate()
            let answer = LoopbackOrigin.Response.image(face, etag: nil, cacheControl: "max-age=3600")
            servers.origin.setResponse(answer.held(by: gate), for: "/ada.png")
            try await servers.radicale.put("ada", "PHOTO;VALUE=URI:" + servers.origin.url("/ada.png"))
            let service = try await servers.startService()
            #expect(try await eventually { servers.origin.requestCount == 1 })

            #expect(try await service.program.terminate() == 0, "\(service.program.text)")

            gate.open()
            let again = try await servers.startService()
            defer { again.program.kill() }
            #expect(try await eventually { try await again.picture("ada").bytes == face })
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func aPhotoTakenOutOfACardIsRemovedInTheNextRound() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.inline(face))
            try await servers.radicale.put("ben", servers.linked(other, at: "/ben.png"))
            // Restarted before each round, so that no round relies on memory.
            try await servers.runOneRound()
            try await servers.radicale.put("ada")
            try await servers.radicale.put("ben")

            let again = try await servers.startService(every: 3600)
            defer { again.program.kill() }

            #expect(try await eventually { try await again.picture("ada").status == 404 })
            #expect(try await eventually { try await again.picture("ben").status == 404 })
            #expect(try await again.changes(since: 0).changes?.filter { $0.kind == "removed" }.count == 2)
            // The contact is still there.
            #expect(try await again.picture("ada?placeholder=initials").mediaType == "image/svg+xml")
            #expect(try await eventually { again.program.text.contains("2 cards read, 0 gone, all well") })
            #expect(try await again.program.terminate() == 0)
        }
    }

}
