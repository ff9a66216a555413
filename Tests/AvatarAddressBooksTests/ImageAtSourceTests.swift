import AvatarAddressBooks
import AvatarMaintenance
import AvatarOriginRules
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarStore

/// Images of cards at their own server, whose address is private.
@Suite(.timeLimit(.minutes(5)))
struct ImageAtSourceTests {
    /// A store that may contact no private address, a server by the name `dav.example`, and the root of its URLs.
    private static func with(_ body: (StoreFixture, BookServer, String) async throws -> Void) async throws {
        try await BookServer.with { server in
            try await StoreFixture.withStore(configure) { fixture in
                try await body(fixture, server, "http://dav.example:\(server.port)")
            }
        }
    }

    private static let resolver = NameLookup.Resolver(
        ask: { name in
            guard name.hasSuffix(".example"), let address = IPAddress("127.0.0.1") else { return .noSuchName }
            return .addresses([address])
        },
        hasRoute: { true }
    )

    private static func configure(_ configuration: inout AvatarStore.Configuration) {
        configuration.http.allowsPrivateNetworks = false
        configuration.http.resolver = resolver
    }

    private func source(_ url: String) throws -> ContactSource {
        var server = try CardDAVServer(url: url)
        server.http.resolver = Self.resolver
        return .cardDAV(server)
    }

    private static func image(_ seed: UInt64) -> LoopbackOrigin.Response {
        .image(SampleImage.png(seed: seed, byteCount: 500))
    }

    @Test func onlyTheServerOfTheCardMayBePrivate() async throws {
        try await Self.with { fixture, server, root in
            fixture.origin.setResponse(Self.image(1), for: "/ada.png")
            server.setImage(Self.image(2), at: "/photos/ada.png")
            server.put("ada", "PHOTO;VALUE=URI:\(root)/photos/ada.png")
            // Another port, another name of the same address, the address itself, and another scheme.
            server.put("ben", "PHOTO;VALUE=URI:\(fixture.origin.url("/ada.png"))")
            server.put("cid", "PHOTO;VALUE=URI:http://other.example:\(server.port)/photos/ada.png")
            server.put("dan", "PHOTO;VALUE=URI:http://127.0.0.1:\(server.port)/photos/ada.png")
            server.put("eve", "PHOTO;VALUE=URI:https://dav.example:\(server.port)/photos/ada.png")

            let preview = try await fixture.store.syncPreview(.sources([source(root)]))
            #expect(preview.failed == 0)
            let report = try await fixture.store.sync(from: [source(root)])

            #expect(report.fetched == 1)
            #expect(report.failures.map(\.kind) == Array(repeating: .forbiddenAddress, count: 4))
            #expect(fixture.origin.requestCount == 0)
            #expect(server.takeRequests().filter { $0.hasPrefix("GET") } == ["GET /photos/ada.png"])
            let stored = try fixture.store.contacts().contacts.filter(\.hasFile)
            #expect(stored.map(\.id) == ["ada"])
            let planned = try await fixture.store.syncPreview(.sources([source(root)]))
            #expect(planned.failures.allSatisfy { $0.contact != "ada" })
        }
    }

    @Test func redirectFromTheServerIsJudged() async throws {
        try await Self.with { fixture, server, root in
            fixture.origin.setResponse(Self.image(1), for: "/ada.png")
            server.setImage(Self.image(2), at: "/photos/here.png")
            server.setImage(.redirect(to: "/photos/here.png"), at: "/photos/ada.png")
            server.setImage(.redirect(to: fixture.origin.url("/ada.png")), at: "/photos/ben.png")
            server.put("ada", "PHOTO;VALUE=URI:\(root)/photos/ada.png")
            server.put("ben", "PHOTO;VALUE=URI:\(root)/photos/ben.png")

            let report = try await fixture.store.sync(from: [source(root)])

            #expect(report.fetched == 1)
            #expect(report.failures.map(\.kind) == [.forbiddenAddress])
            #expect(report.failures.map(\.contact) == ["ben"])
            #expect(fixture.origin.requestCount == 0)
        }
    }

    @Test func listMayNotNameTheServer() async throws {
        try await Self.with { fixture, server, root in
            server.setImage(Self.image(1), at: "/photos/ada.png")
            server.setImage(Self.image(2), at: "/photos/secret.png")
            server.put("ada", "PHOTO;VALUE=URI:\(root)/photos/ada.png")
            let list = [Contact(id: "mallory", avatarURL: "\(root)/photos/secret.png")]

            let report = try await fixture.store.sync(
                .sources([source(root)], and: ContactArray(contacts: list))
            )

            #expect(report.fetched == 1)
            #expect(report.failures.map(\.contact) == ["mallory"])
            #expect(report.failures.map(\.kind) == [.forbiddenAddress])
            #expect(!server.takeRequests().contains("GET /photos/secret.png"))
        }
    }
}
