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

    @Test("the last contact of an address book that is erased, or gone, is said")
    func lastContactIsSaid() async throws {
        let workplace = try Workplace()
        try FileManager.default.createDirectory(atPath: workplace.path("book"), withIntermediateDirectories: true)
        try workplace.write("book/ada.vcf", DAVServerProgram.card("ada", uid: "ada", ["PHOTO;VALUE=URI:data:,"]))
        try await workplace.run("sync", "book").requireSuccess()
        try await workplace.run("remove", "--contact", "ada", "--erase").requireSuccess()

        let erased = try await workplace.run("sync", "book", "--json")
        #expect(try erased.object.objects("sources")?.first?["erased"] as? Int == 1)
        let text = try await workplace.run("sync", "book").text
        let note = "0 gone, 1 of erased contacts left out (--full reads them)"
        #expect(text.contains("cards     0, 0 read, " + note), "\(text)")

        try await workplace.run("sync", "book", "--full").requireSuccess()
        try FileManager.default.removeItem(atPath: workplace.path("book/ada.vcf"))
        let gone = try await workplace.run("sync", "book").text
        #expect(gone.contains("cards     0, 0 read, 1 gone"), "\(gone)")
    }

    @Test func serverIsSyncedAndListed() async throws {
        try await Self.with { workplace, server in
            let first = try await workplace.start(["sync", server.url(), "--json"] + Self.login).end()
            #expect(first.status == 0, "\(first.messages)")
            let source = try #require(first.object.objects("sources")?.first)
            #expect(
                Set(source.keys) == [
                    "source", "kind", "cards", "changed", "removed", "erased", "unreadable", "full", "requests",
                    "failure",
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
            #expect(figures.text.contains("avatars_last_sync_exit_code 2\n"))
            let stats = try #require(try await workplace.run("stats", "--json").object.objects("sources")?.first)
            #expect((stats["failure"] as? String)?.contains("refuses") == true)
            #expect(try await workplace.run("doctor").text.contains("refuses the user or the password"))
            let nothing = try await workplace.start(["sync", "http://127.0.0.1:9/"] + Self.login).end()
            #expect(nothing.status == 69)
            let last = try await workplace.run("stats", "--format", "prometheus")
            #expect(last.text.contains("avatars_last_sync_exit_code 69\n"))
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

    @Test func imageAtAPrivateServerNeedsNoOption() async throws {
        try await Self.with { workplace, server in
            let image = SampleImage.png(seed: 5, byteCount: 600)
            let elsewhere = try await LoopbackOrigin.start { _ in .image(image) }
            // The server asks for the login here too.
            server.setImage(.image(image), at: "/eve.png")
            server.put("eve", "PHOTO;VALUE=URI:" + server.url("/eve.png"))
            server.put("fay", "PHOTO;VALUE=URI:" + elsewhere.url("/fay.png"))

            let run = try await workplace.start(["sync", server.url(), "--json"] + Self.login).end()

            #expect(run.status == 1)
            #expect(try run.object.number("fetched") == 1)
            let failures = try run.object.objects("failures") ?? []
            #expect(failures.map { $0["contact"] as? String } == ["fay"])
            #expect(failures.map { $0["kind"] as? String } == ["forbiddenAddress"])
            #expect(elsewhere.requestCount == 0)
            try await elsewhere.stop()
        }
    }

    @Test func contactsSayWhichSourcesNameThem() async throws {
        try await Self.with { workplace, server in
            server.put("ben", Self.photo)
            let image = Data(SampleImage.png(seed: 3, byteCount: 500)).base64EncodedString()
            let people = #"[{"id": "ada"}, {"id": "cid", "photo": "data:image/png;base64,\#(image)"}]"#
            try workplace.write("people.json", people)
            let list = workplace.path("people.json")
            try await workplace.start(["sync", server.url(), "people.json"] + Self.login).end().requireSuccess()
            let own = try workplace.write("own.png", SampleImage.png(seed: 7, byteCount: 500))
            try await workplace.start(["save", own, "--contact", "dan"]).end().requireSuccess()

            let contacts = try await workplace.run("contacts", "--json").objects
            #expect(contacts.map { $0.text("id") } == ["ada", "ben", "cid", "dan"])
            let both = [list, server.url()].sorted()
            #expect(contacts.map { $0.texts("sources") } == [both, [server.url()], [list], []])

            let shown = try await workplace.run("show", "--contact", "ben", "--json").object
            #expect(shown.textLists("sources") == ["ben": [server.url()]])
            let text = try await workplace.run("show", "--contact", "ben").text
            #expect(text.contains("named by     \(server.url())\n"), "\(text)")

            func sources() async throws -> [String: [String: [String]]] {
                let added = try await workplace.run("changes", "--json").objects.filter { $0.text("kind") == "added" }
                return Dictionary(
                    added.map { (($0.texts("owners") ?? []).joined(), $0.textLists("sources") ?? ["": []]) },
                    uniquingKeysWith: { $1 }
                )
            }
            #expect(try await sources() == ["ben": ["ben": [server.url()]], "cid": ["cid": [list]], "dan": [:]])
            // At the time of reading.
            server.delete("ben")
            try await workplace.start(["sync", server.url()] + Self.login).end().requireSuccess()
            #expect(try await sources() == ["ben": [:], "cid": ["cid": [list]], "dan": [:]])
        }
    }

    @Test func imageAtTheServerNeedsTheLogin() async throws {
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
