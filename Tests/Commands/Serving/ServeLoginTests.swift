import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The login of browsers at the running program.
@Suite(.timeLimit(.minutes(5))) struct ServeLoginTests {
    private static let token = "correct-horse-battery-staple"

    private func writeToken(_ token: String, in workplace: Workplace) throws {
        try workplace.write("token", token + "\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path("token"))
    }

    private func served(_ body: (RunningServer, Workplace) async throws -> Void) async throws {
        try await ServedStore.with { _, workplace in
            try writeToken(Self.token, in: workplace)
            let run = try await RunningServer.with(["--token-file", "token"], in: workplace) {
                try await body($0, workplace)
            }
            #expect(!run.messages.contains("battery"))
        }
    }

    private static func form(_ content: String, to path: String = "/login", _ fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\(fields)"
            + "Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
    }

    /// The cookie of a new login.
    private func logIn(_ server: RunningServer) async throws -> String {
        let connection = try server.connect()
        await connection.send(Self.form("token=\(Self.token)"))
        let reply = try await connection.reply()
        #expect(reply.status == 303 && reply["location"] == "/")
        return String(try #require(reply["set-cookie"]).prefix { $0 != ";" })
    }

    @Test func browserLogsInAndOut() async throws {
        try await served { server, _ in
            let form = try await server.ask("/", ["Accept: text/html"])
            #expect(form.status == 401 && form.text.contains("action=\"/login\""))
            #expect(try await server.ask("/").isProblem)

            let cookie = try await logIn(server)

            let page = try await server.ask("/", ["Accept: text/html", "Cookie: \(cookie)"])
            #expect(page.status == 200 && page.text.contains("Ada Lovelace"))
            #expect(page["cross-origin-resource-policy"] == "same-origin")
            // The event loop answers requests for images by itself.
            let image = try await server.ask("/contacts/ada/picture", ["Cookie: \(cookie)"])
            #expect(image.status == 200 && image["cache-control"]?.hasPrefix("private") == true)
            #expect(try await server.ask("/contacts?query=love", ["Cookie: \(cookie)"]).status == 200)
            #expect(try await server.ask("/metrics", ["Cookie: \(cookie)"]).status == 401)
            #expect(try await server.ask("/contacts/ada/picture", ["Cookie: avatars-session=0"]).status == 401)

            let connection = try server.connect()
            await connection.send(Self.form("", to: "/logout", "Cookie: \(cookie)\r\n"))
            #expect(try await connection.reply().status == 303)
            #expect(try await server.ask("/contacts/ada/picture", ["Cookie: \(cookie)"]).status == 401)
        }
    }

    @Test func newTokenEndsTheSession() async throws {
        try await served { server, workplace in
            let cookie = try await logIn(server)
            // The same token again changes nothing.
            server.program.signal(SIGHUP)
            try await server.program.says("read the token again")
            #expect(try await server.ask("/contacts", ["Cookie: \(cookie)"]).status == 200)

            try writeToken("another-token-than-before", in: workplace)
            server.program.signal(SIGHUP)

            let reply = try await ServedStore.wait(for: "/contacts", ["Cookie: \(cookie)"], at: server) {
                $0.status == 401
            }
            #expect(reply.status == 401)
        }
    }

    @Test func formsComeInPieces_andBehindOtherRequests() async throws {
        try await served { server, _ in
            let connection = try server.connect()
            let form = Self.form("token=\(Self.token)&next=/contacts/ada")
            let get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            await connection.send(get + form + get)
            let replies = try await connection.replies(3)
            #expect(replies.map(\.status) == [200, 303, 200])
            #expect(replies[1]["location"] == "/contacts/ada")

            let place = form.index(form.endIndex, offsetBy: -20)
            await connection.send(String(form[..<place]))
            #expect(try await server.ask("/healthz").status == 200)
            await connection.send(String(form[place...]))
            #expect(try await connection.reply().status == 303)
            await connection.send(get)
            #expect(try await connection.reply().status == 200)
        }
    }

    @Test func longFormEndsTheConnection_andAnotherContentIsDropped() async throws {
        try await served { server, _ in
            let long = try server.connect()
            await long.send(Self.form("token=" + String(repeating: "x", count: 5000)))
            let reply = try await long.reply()
            #expect(reply.status == 413 && reply.isProblem && reply["connection"] == "close")

            for (path, status) in [("/", 405), ("/login/x", 405), ("/contacts", 405)] {
                let other = try server.connect()
                await other.send(Self.form("token=\(Self.token)", to: path))
                #expect(try await other.reply().status == status, "\(path)")
            }
            let expecting = try server.connect()
            await expecting.send(
                "POST /login HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 30\r\n\r\n"
            )
            #expect(try await expecting.reply().status == 401)
        }
    }

    /// A page on the web whose name resolves to 127.0.0.1 gets no form and may send none.
    @Test func foreignHostsAndFormsAreRefused() async throws {
        try await served { server, _ in
            let rebound = try server.connect()
            await rebound.send("GET / HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\n\r\n")
            #expect(try await rebound.reply().status == 421)
            for origin in ["Origin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
                let connection = try server.connect()
                await connection.send(Self.form("token=\(Self.token)", to: "/login", origin))
                let reply = try await connection.reply()
                #expect(reply.status == 403 && reply["set-cookie"] == nil)
            }
            let own = try server.connect()
            await own.send(Self.form("token=\(Self.token)", to: "/login", "Origin: http://localhost\r\n"))
            #expect(try await own.reply().status == 303)
        }
    }
}
