import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `avatars serve` as its clients see it.
@Suite(.timeLimit(.minutes(5))) struct ServeCommandTests {
    @Test func imageIsServed() async throws {
        try await ServedStore.served { server, _ in
            let bytes = imageBytes("/ada.png")
            let tag = ServedStore.tag(bytes)
            let connection = try server.connect()

            let whole = try await connection.ask("/contacts/ada/picture")
            let head = try await connection.ask("/contacts/ada/picture", method: "HEAD")
            let known = try await connection.ask("/contacts/ada/picture", ["If-None-Match: \(tag)"])
            let another = try await connection.ask("/contacts/ada/picture", ["If-Match: \"x\""])
            let older = ["If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"]
            let newer = try await connection.ask("/contacts/ada/picture", older)
            let part = try await connection.ask("/contacts/ada/picture", ["Range: bytes=1-3"])
            let beyond = try await connection.ask("/contacts/ada/picture", ["Range: bytes=99999-"])
            let image = try await connection.ask(try #require(whole["content-location"]))

            #expect(whole.status == 200 && whole.body == bytes && whole["etag"] == tag)
            #expect(whole["connection"] == nil && whole["x-content-type-options"] == "nosniff")
            #expect(head.status == 200 && head["content-length"] == "\(bytes.count)")
            #expect(another.status == 412 && newer.status == 412)
            #expect(known.status == 304 && known["etag"] == tag && known["transfer-encoding"] == nil)
            #expect(part.status == 206 && part.body == Array(bytes[1...3]))
            #expect(beyond.status == 416 && beyond["content-range"] == "bytes */\(bytes.count)")
            #expect(image.status == 200 && image.body == bytes)
            #expect(image["cache-control"] == "public, max-age=31536000, immutable")
        }
    }

    @Test func everyPathIsServed() async throws {
        let run = try await ServedStore.served { server, origin in
            let requests = origin.requestCount
            let paths = [
                ("/", 200, "text/html; charset=utf-8"), ("/?query=ada", 200, "text/html; charset=utf-8"),
                ("/contacts", 200, "application/json"), ("/contacts/ada", 200, "text/html; charset=utf-8"),
                ("/contacts/a%2Fb%20%C3%A9%3F/picture", 200, "image/png"),
                ("/contacts/ben/picture", 404, "application/problem+json"),
                ("/contacts/ben/picture?placeholder=initials", 200, "image/svg+xml"),
                ("/changes?since=0", 200, "application/json"), ("/healthz", 200, "text/plain; charset=utf-8"),
                ("/readyz", 200, "text/plain; charset=utf-8"),
                ("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
                ("/openapi.json", 200, "application/json"), ("/favicon.svg", 200, "image/svg+xml"),
                ("/nothing", 404, "application/problem+json"),
            ]
            for (path, status, type) in paths {
                let reply = try await server.ask(path)
                let head = try await server.ask(path, method: "HEAD")
                // The page of a contact says how long ago something was, which may get a digit more.
                let lengths = try await [reply, server.ask(path)].map { "\($0.body.count)" }
                #expect(reply.status == status && reply["content-type"] == type, "\(path)")
                #expect(head.status == status && lengths.contains(head["content-length"] ?? ""), "\(path)")
            }
            let document = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../docs/openapi.json").standardized
            #expect(try await server.ask("/openapi.json").body == Array(Data(contentsOf: document)))
            let post = try await server.ask("/contacts/ada/picture", ["Content-Length: 0"], method: "POST")
            #expect(post.status == 405 && post["allow"] == "GET, HEAD" && post.isProblem)
            #expect(origin.requestCount == requests)
        }
        #expect(run.status == 143)
        #expect(run.bytes.isEmpty)
        #expect(run.messages.split(separator: "\n").count == 1)
    }

    @Test func replacedImageIsSeenAfterTheNextSync() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.json", ServedStore.people(origin))
            let arguments = ["--sync", "people.json", "--every", "1s", "--allow-private-network"]
            try await RunningServer.with(arguments, in: workplace) { server in
                let path = "/contacts/ada/picture"
                let first = try await ServedStore.wait(for: path, at: server) { $0.status == 200 }
                #expect(first.body == imageBytes("/ada.png"))
                let tag = try #require(first["etag"])
                #expect(try await server.ask(path, ["If-None-Match: \(tag)"]).status == 304)
                try workplace.write("people.json", ServedStore.people(origin, ada: "/new.png"))

                let second = try await ServedStore.wait(for: path, ["If-None-Match: \(tag)"], at: server) {
                    $0.status != 304
                }

                #expect(second.status == 200 && second.body == imageBytes("/new.png"))
                try await server.program.says("sync complete: ")
            }
        }
    }

    // MARK: Tokens

    @Test(arguments: [
        (
            "", 0o600,
            "The token file \"token\" is empty. A token must be 16 to 1,024 printable ASCII characters on one line."
        ),
        ("\n", 0o600, "The token file \"token\" is empty."),
        ("short\n", 0o600, "The token in \"token\" has 5 characters. A token must be 16 to 1,024 printable"),
        (
            "correct horse battery staple\n", 0o600,
            "has a space or another character that is not printable ASCII. A token must"
        ),
        ("correct-horse-battery-staple\n", 0o644, "can be read by other users. Run `chmod 600 token`."),
    ])
    func badTokenIsRefused(content: String, mode: Int, message: String) async throws {
        let workplace = try Workplace()
        try workplace.write("token", content)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: workplace.path("token"))

        let run = try await workplace.run("serve", "--listen", "127.0.0.1:0", "--token-file", "token")

        #expect(run.status == 2)
        #expect(run.messages.contains(message))
        #expect(try workplace.names == ["token"])
    }

    @Test func missingTokenFileIsRefused() async throws {
        let workplace = try Workplace()

        let run = try await workplace.run("serve", "--listen", "127.0.0.1:0", "--token-file", "token")
        let folder = try await workplace.run("serve", "--listen", "127.0.0.1:0", "--token-file", ".")

        #expect(run.status == 2 && folder.status == 2)
        #expect(run.messages == "avatars: Cannot read the token file \"token\": No such file or directory.\n")
        #expect(folder.messages == "avatars: Cannot read the token file \".\": Is a directory.\n")
        #expect(try workplace.names.isEmpty)
    }

    /// A browser compares it with an origin, which has no path.
    @Test(arguments: ["https://a.example/", "a.example", "https://a.example https://b.example", "null", ""])
    func allowedOriginMustBeOne(origin: String) async throws {
        let run = try await Workplace().run("serve", "--listen", "127.0.0.1:0", "--allow-origin", origin)
        #expect(run.status == 64 && run.messages.contains("must be * or one origin"))
    }

    @Test func tokenIsNeeded() async throws {
        try await ServedStore.with { _, workplace in
            try workplace.write("token", "correct-horse-battery-staple\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path("token"))
            let run = try await RunningServer.with(["--token-file", "token"], in: workplace) { server in
                let without = try await server.ask("/contacts/ada/picture")
                let with = try await server.ask(
                    "/contacts/ada/picture",
                    ["Authorization: Bearer correct-horse-battery-staple"]
                )
                #expect(without.status == 401 && without["www-authenticate"] == "Bearer" && without.isProblem)
                #expect(with.status == 200)
                #expect(try await server.ask("/healthz").status == 200)
            }
            #expect(!run.messages.contains("battery"))
        }
    }
}
