import AvatarAddressBooks
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarStore

/// Syncs with Radicale and xandikos.
@Suite(
    .enabled(if: !DAVServerProgram.Kind.installed.isEmpty, "needs Radicale or xandikos, which `scripts/test` unpacks"),
    .timeLimit(.minutes(5))
)
struct RealServerTests {
    private static func photo(_ seed: UInt64) -> String {
        "PHOTO;ENCODING=b;TYPE=PNG:" + Data(SampleImage.png(seed: seed, byteCount: 600)).base64EncodedString()
    }

    private func sync(_ fixture: StoreFixture, _ url: String, full: Bool = false) async throws -> SyncReport {
        var server = try CardDAVServer(url: url)
        server.login = .init(user: DAVServerProgram.user, password: DAVServerProgram.password)
        var options = SyncOptions()
        options.comparesAll = full
        return try await fixture.store.sync(from: [.cardDAV(server)], options: options)
    }

    @Test(arguments: DAVServerProgram.Kind.installed)
    func changesAreRead(_ kind: DAVServerProgram.Kind) async throws {
        try await DAVServerProgram.with(kind) { server in
            try await StoreFixture.withStore { fixture in
                try await server.put("ada", Self.photo(1))
                try await server.put("ben", Self.photo(2))
                try await server.put("J%C3%B6rg%20%40%26", Self.photo(3), uid: "joerg")
                try await server.put("cid")
                let first = try await sync(fixture, server.url)
                #expect(first.sources.first?.failure == nil)
                #expect(first.contacts == 4)
                #expect(first.saved == 3)

                let second = try await sync(fixture, server.url)
                #expect(second.contacts == 4)
                #expect(second.sources.first?.changed == 0)
                #expect(second.sources.first?.requests == 1)

                try await server.delete("ada")
                try await server.put("ben", Self.photo(4))
                try await server.put("J%C3%B6rg%20%40%26", uid: "joerg")
                let third = try await sync(fixture, server.url)
                #expect(third.sources.first?.changed == 2)
                #expect(third.sources.first?.removed == 1)
                #expect(third.sources.first?.isFull == false)
                #expect(third.unlinked == 2)
                #expect(try fixture.store.contacts().contacts.map(\.id) == ["ben", "cid", "joerg"])
                #expect(
                    try fixture.store.contacts().contacts.map(\.key?.description) == ["contact:ben", nil, nil]
                )

                let full = try await sync(fixture, server.url, full: true)
                #expect(full.sources.first?.changed == 3)
                #expect(full.contacts == 3)

                // The book by its own URL is another source.
                let direct = try await sync(fixture, server.book)
                #expect(direct.contacts == 3)
                #expect(direct.sources.first?.failure == nil)
            }
        }
    }

    /// The server does not know the token any more, as after its storage was replaced.
    @Test(arguments: DAVServerProgram.Kind.installed)
    func forgottenTokenLeadsToAComparison(_ kind: DAVServerProgram.Kind) async throws {
        try await DAVServerProgram.with(kind) { server in
            try await StoreFixture.withStore { fixture in
                for name in ["ada", "ben", "cid"] { try await server.put(name) }
                _ = try await sync(fixture, server.url)
                try await server.delete("ada")
                try await server.put("ben", Self.photo(1))
                let source = try #require(try fixture.store.index.source(named: server.url))
                for book in try fixture.store.index.books(of: source.id) {
                    let token = try #require(book.token)
                    let other = token.dropLast(8) + "00000000"
                    try await fixture.store.requireWritable().writer.write {
                        try $0.setToken(String(other), of: book.id)
                    }
                }

                let report = try await sync(fixture, server.url)

                #expect(report.sources.first?.failure == nil)
                #expect(report.sources.first?.isFull == true)
                #expect(report.sources.first?.changed == 1)
                #expect(report.sources.first?.removed == 1)
                #expect(try fixture.store.contacts().contacts.map(\.id) == ["ben", "cid"])
            }
        }
    }
}
