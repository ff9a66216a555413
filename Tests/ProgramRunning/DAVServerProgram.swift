import AvatarStoreTesting
import Foundation

/// A real CardDAV server on loopback, with one user and the book `people`.
package struct DAVServerProgram: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case radicale, xandikos

        /// The folder of the servers, which `scripts/test` fills.
        static let tools = ProcessInfo.processInfo.environment["AVATARS_DAV"]

        /// The path of the program; `nil` if it is not installed.
        var path: String? {
            let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
            return ((Self.tools.map { [$0 + "/bin"] } ?? []) + folders).map { "\($0)/\(rawValue)" }
                .first { FileManager.default.isExecutableFile(atPath: $0) }
        }

        /// The variables by which the programs find their modules.
        static let environment = tools.map { ["PYTHONPATH": $0] } ?? [:]

        package static let installed = allCases.filter { $0.path != nil }
    }

    package let url: String
    /// The URL of the book `people`.
    package let book: String
    private let kind: Kind
    private let workplace: Workplace

    package static let user = "ada"
    package static let password = "a secret & more"

    /// Runs `body` with a server of `kind`.
    package static func with(_ kind: Kind, _ body: (DAVServerProgram) async throws -> Void) async throws {
        let workplace = try Workplace()
        let port = try Socket.freePorts(1)
        let program: RunningProgram
        switch kind {
        case .radicale:
            let users = try workplace.write("users", "\(user):\(password)\n")
            let configuration = try workplace.write(
                "config",
                """
                [server]
                hosts = 127.0.0.1:\(port)
                [auth]
                type = htpasswd
                htpasswd_filename = \(users)
                htpasswd_encryption = plain
                delay = 0
                [storage]
                filesystem_folder = \(workplace.path("books"))
                """
            )
            program = try await workplace.start(
                tool: kind.path ?? "",
                ["--config", configuration],
                environment: Kind.environment
            )
        case .xandikos:
            let arguments = [
                "-d", workplace.path("books"), "--autocreate", "-l", "127.0.0.1", "-p", "\(port)",
                "--current-user-principal", "/ada/",
            ]
            program = try await workplace.start(tool: kind.path ?? "", arguments, environment: Kind.environment)
        }
        let base = "http://127.0.0.1:\(port)"
        let server = DAVServerProgram(
            url: base + "/",
            book: base + (kind == .radicale ? "/ada/people/" : "/ada/contacts/people/"),
            kind: kind,
            workplace: workplace
        )
        do {
            try await waitUntil(every: .milliseconds(50)) {
                do {
                    try await server.makeBook()
                    return true
                } catch let error as UnexpectedStatus {
                    throw error
                } catch {
                    guard !program.hasEnded else { throw error }
                    return false
                }
            }
            try await body(server)
        } catch {
            program.signal(SIGTERM)
            _ = try await program.end()
            throw error
        }
        program.signal(SIGTERM)
        _ = try await program.end()
    }

    struct UnexpectedStatus: Error {
        let status: Int
        let body: String
    }

    /// The URL of the book `name` beside `people`.
    package func book(_ name: String) -> String {
        name == "people" ? book : String(book.dropLast("people/".count)) + name + "/"
    }

    /// Makes the book `name`.
    package func makeBook(_ name: String = "people") async throws {
        let body = """
            <mkcol xmlns="DAV:"><set><prop><resourcetype><collection/>\
            <addressbook xmlns="urn:ietf:params:xml:ns:carddav"/></resourcetype><displayname>\(name)</displayname>\
            </prop></set></mkcol>
            """
        try await require("MKCOL", book(name), body, type: "application/xml")
    }

    package func put(_ name: String, _ lines: String..., uid: String? = nil) async throws {
        try await require("PUT", book + name + ".vcf", Self.card(name, uid: uid ?? name, lines), type: "text/vcard")
    }

    /// A card, which every server takes.
    package static func card(_ name: String, uid: String, _ lines: [String]) -> String {
        let all =
            ["BEGIN:VCARD", "VERSION:3.0", "UID:\(uid)", "FN:\(name)", "N:\(name);;;;"] + lines + ["END:VCARD", ""]
        return all.joined(separator: "\r\n")
    }

    package func delete(_ name: String) async throws { try await require("DELETE", book + name + ".vcf") }

    /// Makes the server forget its sync tokens. Returns `false` if it cannot.
    package func forgetTokens(of name: String) throws -> Bool {
        guard kind == .radicale else { return false }
        let folder = workplace.path("books") + "/collection-root/ada/\(name)/.Radicale.cache/sync-token"
        guard FileManager.default.fileExists(atPath: folder) else { return false }
        try FileManager.default.removeItem(atPath: folder)
        return true
    }

    private func require(_ method: String, _ url: String, _ body: String? = nil, type: String? = nil) async throws {
        let run = try await send(method, url, body, type: type)
        guard (200..<300).contains(run.status) else { throw UnexpectedStatus(status: run.status, body: run.text) }
    }

    /// Sends a request of the user, and returns the status.
    package func send(
        _ method: String,
        _ url: String,
        _ body: String? = nil,
        type: String? = nil
    ) async throws -> (status: Int, text: String) {
        var arguments = [
            "-s", "-u", "\(Self.user):\(Self.password)", "-X", method, url, "-w", "\n%{http_code}", "--max-time", "30",
        ]
        if let type { arguments += ["-H", "Content-Type: \(type)"] }
        if let body {
            let file = try workplace.write("body-\(UUID().uuidString)", body)
            arguments += ["--data-binary", "@" + file]
        }
        let run = try await workplace.run(tool: "/usr/bin/curl", arguments)
        try run.requireSuccess()
        return (run.lines.last.flatMap { Int($0) } ?? 0, run.text)
    }
}
