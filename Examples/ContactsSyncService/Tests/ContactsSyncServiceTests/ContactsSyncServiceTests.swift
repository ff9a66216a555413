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
            #expect(try await eventually { try await service.picture("ben.vcf").bytes == other })
            #expect(try await service.picture("ada.vcf").bytes == face)
            #expect(try await service.picture("carl.vcf").status == 404)
            let placeholder = try await service.picture("carl.vcf?placeholder=initials")
            #expect(placeholder.status == 200 && placeholder.mediaType == "image/svg+xml")
            // The name is that of the card.
            #expect(String(decoding: placeholder.bytes, as: UTF8.self).contains(">C</text>"))
            let first = try await service.changes(since: 0)
            #expect(
                Set(try #require(first.changes).map { "\($0.kind) \($0.owners)" })
                    == [#"added ["ada.vcf"]"#, #"added ["ben.vcf"]"#]
            )
            let beyond = try await service.changes(since: first.next + 1)
            #expect(beyond.startOver == true && beyond.next == first.next)

            // Later rounds read what changed: other bytes, another URL, a new contact.
            try await radicale.put("ada", servers.inline(other))
            try await radicale.put("ben", servers.linked(third, at: "/ben-2.png"))
            try await radicale.put("dora", servers.linked(third, at: "/dora.png"))
            #expect(try await eventually { try await service.picture("dora.vcf").bytes == third })
            #expect(try await eventually { try await service.picture("ben.vcf").bytes == third })
            #expect(try await service.picture("ada.vcf").bytes == other)
            let second = try await service.changes(since: first.next)
            let changes = try #require(second.changes)
            #expect(Set(changes.flatMap(\.owners)) == ["ada.vcf", "ben.vcf", "dora.vcf"])
            #expect(changes.contains { $0.kind == "changed" && $0.owners == ["ada.vcf"] })

            // A deleted card removes its contact's picture.
            try await radicale.delete("ben")
            #expect(try await eventually { try await service.picture("ben.vcf").status == 404 })
            let last = try await service.changes(since: second.next)
            #expect(last.changes?.map { "\($0.kind) \($0.owners)" } == [#"removed ["ben.vcf"]"#])
            // The server reported the deletion; no comparison was needed.
            #expect(try await eventually { service.program.text.contains("removed=1") })
            #expect(try await service.program.terminate() == 0, "\(service.program.text)")
            #expect(service.program.text.contains("closed"))
        }
    }

    @Test func aForgottenSyncTokenLeadsToAFullComparison() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.inline(face))
            try await servers.radicale.put("ben", servers.inline(other))
            let service = try await servers.startService()
            #expect(try await eventually { try await service.picture("ben.vcf").bytes == other })
            // While the service is stopped, one card is deleted, one is added, and the server forgets its tokens.
            #expect(try await service.program.terminate() == 0, "\(service.program.text)")
            try await servers.radicale.delete("ben")
            try await servers.radicale.put("carl", servers.inline(third))
            try servers.radicale.forgetTokens()

            let again = try await servers.startService()
            defer { again.program.kill() }

            #expect(try await eventually { try await again.picture("carl.vcf").bytes == third })
            #expect(try await eventually { try await again.picture("ben.vcf").status == 404 })
            #expect(try await again.picture("ada.vcf").bytes == face)
            #expect(again.program.text.contains("forgotten"))
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func aRestartedServiceContinues() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.linked(face, at: "/ada.png"))
            let service = try await servers.startService()
            #expect(try await eventually { try await service.picture("ada.vcf").bytes == face })
            #expect(try await eventually { servers.hasState })
            #expect(try await service.program.terminate() == 0, "\(service.program.text)")
            let requests = servers.origin.requestCount
            try await servers.radicale.put("ben", servers.linked(other, at: "/ben.png"))

            let again = try await servers.startService()
            defer { again.program.kill() }

            #expect(try await again.picture("ada.vcf").bytes == face)
            #expect(try await eventually { try await again.picture("ben.vcf").bytes == other })
            #expect(servers.origin.requestCount == requests + 1)
            #expect(try await eventually { again.program.text.contains("contacts=1") })
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

            #expect(!servers.hasState)
            gate.open()
            let again = try await servers.startService()
            defer { again.program.kill() }
            #expect(try await eventually { try await again.picture("ada.vcf").bytes == face })
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

            #expect(try await eventually { try await again.picture("ada.vcf").status == 404 })
            #expect(try await eventually { try await again.picture("ben.vcf").status == 404 })
            #expect(try await again.changes(since: 0).changes?.filter { $0.kind == "removed" }.count == 2)
            // The contact is still there.
            #expect(try await again.picture("ada.vcf?placeholder=initials").mediaType == "image/svg+xml")
            #expect(try await eventually { again.program.text.contains("full=false") })
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func aPhotoReplacedByAURLIsRemovedOnceThatImageIsFetched() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.inline(face))
            try await servers.runOneRound()
            servers.origin.setResponse(.init(status: 500), for: "/ada.png")
            let url = servers.origin.url("/ada.png")
            try await servers.radicale.put("ada", "PHOTO;VALUE=URI:" + url)
            let service = try await servers.startService(every: 3600)
            #expect(try await eventually { service.rounds == 1 })
            #expect(try await service.picture("ada.vcf").bytes == face)
            #expect(try await service.program.terminate() == 0)
            // A read fetches the image without its card, as a sync without a list would.
            _ = servers.linked(other, at: "/ada.png")
            try await servers.withStore { store in
                _ = try await store.avatar(for: AvatarKey(url: url), options: FetchOptions(policy: .reload))
            }

            let again = try await servers.startService(every: 3600)
            defer { again.program.kill() }

            #expect(try await eventually { try await again.picture("ada.vcf").bytes == other })
            #expect(try await eventually { again.program.text.contains("contacts=1") })
            #expect(try await eventually { again.program.text.contains("full=false") })
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func cardsWhoseURLsFailAreReadOnce() async throws {
        try await withServers { servers in
            servers.origin.setResponse(.init(status: 500), for: "/ada.png")
            try await servers.radicale.put("ada", "PHOTO;VALUE=URI:" + servers.origin.url("/ada.png"))
            let service = try await servers.startService()
            defer { service.program.kill() }
            #expect(try await eventually { servers.hasState })
            // The URL now backs off.
            try await servers.radicale.put("ada", "PHOTO;VALUE=URI:" + servers.origin.url("/ada.png"), "NOTE:new")
            #expect(try await eventually { service.broughtIn == 2 })

            try await servers.radicale.put("ben", servers.inline(face))

            #expect(try await eventually { try await service.picture("ben.vcf").bytes == face })
            let rounds = service.rounds
            #expect(try await eventually { service.rounds > rounds + 5 })
            #expect(service.broughtIn == 3, "\(service.program.text)")
            #expect(try await service.program.terminate() == 0)
        }
    }

    @Test func aURLOfAPausedHostIsFetchedLater_andOnlyItsCardIsReadAgain() async throws {
        try await withServers { servers in
            for name in ["a", "b", "c", "d", "e", "f"] {
                servers.origin.setResponse(.init(status: 500), for: "/\(name).png")
                try await servers.radicale.put(name, "PHOTO;VALUE=URI:" + servers.origin.url("/\(name).png"))
            }
            // Five failures in a row pause the host.
            try await servers.runOneRound()
            let requests = servers.origin.requestCount
            try await servers.radicale.put("zoe", servers.linked(other, at: "/zoe.png"))
            let service = try await servers.startService()
            #expect(try await eventually { service.broughtIn > 3 })
            #expect(try await service.picture("zoe.vcf").status == 404)
            #expect(try await service.program.terminate() == 0)
            #expect(service.program.text.matches(of: /contacts=1 .*brought in changes/).count == service.broughtIn)
            #expect(servers.origin.requestCount == requests)
            // The host responds again.
            _ = servers.linked(third, at: "/other.png")
            try await servers.withStore { store in
                _ = try await store.avatar(for: AvatarKey(url: servers.origin.url("/other.png")))
            }

            let again = try await servers.startService()
            defer { again.program.kill() }

            #expect(try await eventually { try await again.picture("zoe.vcf").bytes == other })
            // Once its picture is stored, the card is not read any more.
            let rounds = again.rounds
            #expect(try await eventually { again.rounds > rounds + 5 })
            #expect(again.broughtIn == 1)
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func everythingIsComparedOnceADay_despiteRestarts() async throws {
        try await withServers { servers in
            try await servers.radicale.put("ada", servers.inline(face))
            try await servers.runOneRound()
            // A contact whose deletion the server did not report, and a day later.
            try await servers.withStore { store in
                let gone = Contact(id: "gone.vcf", images: [.photo(ContactPhoto(bytes: other))])
                _ = try await store.sync(contacts: [gone])
            }
            try servers.ageState(by: 25 * 3600)

            let again = try await servers.startService(every: 3600)
            defer { again.program.kill() }

            #expect(try await eventually { again.program.text.contains("full=true") })
            #expect(try await eventually { try await again.picture("gone.vcf").status == 404 })
            #expect(try await again.picture("ada.vcf").bytes == face)
            #expect(try await again.program.terminate() == 0)
        }
    }

    @Test func contactIDsAreCardNames_withBlanksAndAccents() async throws {
        try await withServers { servers in
            try await servers.radicale.put("a%20b", servers.inline(face))
            try await servers.radicale.put("J%C3%B6rg%25", servers.inline(other))
            let service = try await servers.startService()
            defer { service.program.kill() }

            #expect(try await eventually { try await service.picture("a%20b.vcf").bytes == face })
            #expect(try await eventually { try await service.picture("J%C3%B6rg%25.vcf").bytes == other })
            #expect(
                Set(try await service.changes(since: 0).changes?.flatMap(\.owners) ?? []) == ["a b.vcf", "Jörg%.vcf"]
            )
            #expect(try await service.program.terminate() == 0)
        }
    }
}
