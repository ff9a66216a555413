import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `sync` and `sources` with CardDAV servers, run as a program.
@Suite(.timeLimit(.minutes(5)))
struct AddressBookCommandTests {
    private static let photo =
        "PHOTO;ENCODING=b;TYPE=PNG:" + Data(SampleImage.png(seed: 1, byteCount: 600)).base64EncodedString()

    private static func with(_ body: (Workplace, BookServer) async throws -> Void) async throws {
        try await BookServer.with { server in
            let workplace = try Workplace()
            _ = try workplace.write("password", "a secret & more\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path("password"))
            server.faults.login = ("ada", "a secret & more")
            server.put("ada", photo)
            try await body(workplace, server)
        }
    }

    private static let login = ["--user", "ada", "--password-file", "password"]

    @Test func serverIsSyncedAndListed() async throws {
        try await Self.with { workplace, server in
            let first = try await workplace.start(["sync", server.url(), "--json"] + Self.login).end()
            #expect(first.status == 0, "\(first.messages)")
            let source = try #require(first.object.objects("sources")?.first)
            #expect(
                Set(source.keys) == [
                    "source", "kind", "cards", "changed", "removed", "unreadable", "full", "requests", "failure",
                ]
            )
            #expect(source["kind"] as? String == "carddav")
            #expect(source["cards"] as? Int == 1)
            #expect(source["requests"] as? Int == 6)

            let text = try await workplace.start(["sync", server.url()] + Self.login).end()
            #expect(text.text.contains("cards     1, 0 read, 0 gone"), "\(text.text)")

            let listed = try await workplace.run("sources", "--json").object
            #expect(listed.text("source") == server.url())
            #expect(listed.text("outcome") == "complete")
            #expect(listed.number("cards") == 1)
            #expect(try await workplace.run("sources", "--forget", server.url()).status == 0)
            #expect(try await workplace.run("contacts").lines.count <= 1)
        }
    }

    @Test func exitCodesTellTheFault() async throws {
        try await Self.with { workplace, server in
            let anonymous = try await workplace.run("sync", server.url())
            #expect(anonymous.status == 2)
            #expect(anonymous.messages.contains("refuses access (status 401); give a user and a password"))
            _ = try workplace.write("wrong", "no\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path("wrong"))
            let refused = try await workplace.run("sync", server.url(), "--user", "ada", "--password-file", "wrong")
            #expect(refused.status == 2)
            #expect(refused.messages.contains("refuses the user or the password"))
            let figures = try await workplace.run("stats", "--format", "prometheus")
            #expect(figures.text.contains("avatars_source_up{source=\"\(server.url())\"} 0\n"))
            let stats = try #require(try await workplace.run("stats", "--json").object.objects("sources")?.first)
            #expect((stats["failure"] as? String)?.contains("refuses") == true)
            #expect(try await workplace.run("doctor").text.contains("refuses the user or the password"))
            let nothing = try await workplace.start(["sync", "http://127.0.0.1:9/"] + Self.login).end()
            #expect(nothing.status == 69)
            for url in ["http://ada:secret@127.0.0.1/", "http://127.0.0.1/?a=secret"] {
                let run = try await workplace.run("sync", url)
                #expect(run.status == 64)
                #expect(run.messages.contains("--password-file"))
                #expect(!run.messages.contains("secret@") && !run.messages.contains("=secret"))
            }
            #expect(try await workplace.run("sync", server.url(), "--user", "ada").status == 64)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: workplace.path("password"))
            let open = try await workplace.start(["sync", server.url()] + Self.login).end()
            #expect(open.status == 2)
            #expect(open.messages.contains("can be read by other users"))
        }
    }

    @Test func otherSourcesGoOn() async throws {
        try await Self.with { workplace, server in
            let run = try await workplace.start(["sync", "http://127.0.0.1:9/", server.url(), "--json"] + Self.login)
                .end()
            #expect(run.status == 69)
            #expect(try run.object.number("contacts") == 1)
            _ = try workplace.write("people.json", "[{\"id\": \"ben\"}]")
            let mixed = try await workplace.start(["sync", server.url(), "people.json", "--json"] + Self.login).end()
            #expect(mixed.status == 0, "\(mixed.messages)")
            #expect(try mixed.object.number("contacts") == 2)
        }
    }

    @Test func folderThatIsNotMountedStopsNoOther() async throws {
        try await Self.with { workplace, server in
            let run = try await workplace.start(["sync", "cards", server.url(), "--json"] + Self.login).end()
            #expect(run.status == 2)
            #expect(run.messages.contains("does not exist"))
            #expect(try run.object.number("contacts") == 1)
        }
    }

    @Test func netrcHasTheLogin() async throws {
        try await Self.with { workplace, server in
            _ = try workplace.write(".netrc", "machine 127.0.0.1 login ada password \"a secret & more\"\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path(".netrc"))
            let run = try await workplace.run("sync", server.url(), environment: ["HOME": workplace.path])
            #expect(run.status == 0, "\(run.messages)")
            let named = try await workplace.run("sync", server.url(), "--netrc-file", ".netrc", "--full")
            #expect(named.status == 0, "\(named.messages)")
        }
    }

    @Test func planAsksNoServer() async throws {
        try await Self.with { workplace, server in
            try await workplace.start(["sync", server.url()] + Self.login).end().requireSuccess()
            _ = server.takeRequests()
            let run = try await workplace.start(["sync", server.url(), "--dry-run", "--json"] + Self.login).end()
            #expect(run.status == 0)
            #expect(try run.object.number("contacts") == 1)
            #expect(server.takeRequests().isEmpty)
        }
    }

    @Test func pictureAtTheServerNeedsTheLogin() async throws {
        try await Self.with { workplace, server in
            let image = try await LoopbackOrigin.start { request in
                request.headers["Authorization"] == nil ? .init(status: 404) : .init(status: 500)
            }
            server.put("eve", "PHOTO;VALUE=URI:" + image.url("/eve.png"))
            let run = try await workplace.start(
                ["sync", server.url(), "--allow-private-network", "--json"] + Self.login
            ).end()
            // Another port of the same host gets no login.
            #expect((try run.object.objects("failures")?.first?["message"] as? String)?.contains("404") == true)
            try await image.stop()
        }
    }
}
