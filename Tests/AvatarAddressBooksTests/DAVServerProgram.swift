import AvatarStoreTesting
import Foundation
import ProgramRunning

/// A real CardDAV server on loopback, with one user and the book `people`.
struct DAVServerProgram: Sendable {
    enum Kind: String, CaseIterable, Sendable {
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

        static let installed = allCases.filter { $0.path != nil }
    }

    let url: String
    let book: String
    private let workplace: Workplace

    static let user = "ada"
    static let password = "a secret & more"

    /// Runs `body` with a server of `kind`.
    static func with(_ kind: Kind, _ body: (DAVServerProgram) async throws -> Void) async throws {
        let workplace = try Workplace()
        // Finds a free port.
        let origin = try await LoopbackOrigin.start()
        let port = origin.port
        try await origin.stop()
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

    private func makeBook() async throws {
        let body = """
            <mkcol xmlns="DAV:"><set><prop><resourcetype><collection/>\
            <addressbook xmlns="urn:ietf:params:xml:ns:carddav"/></resourcetype><displayname>People</displayname>\
            </prop></set></mkcol>
            """
        try await request("MKCOL", "", body, type: "application/xml")
    }

    func put(_ name: String, _ lines: String..., uid: String? = nil) async throws {
        let card =
            ["BEGIN:VCARD", "VERSION:3.0", "UID:\(uid ?? name)", "FN:\(name)", "N:\(name);;;;"] + lines + [
                "END:VCARD", "",
            ]
        try await request("PUT", name + ".vcf", card.joined(separator: "\r\n"), type: "text/vcard")
    }

    func delete(_ name: String) async throws { try await request("DELETE", name + ".vcf", nil, type: nil) }

    private func request(_ method: String, _ path: String, _ body: String?, type: String?) async throws {
        var arguments = [
            "-s", "-u", "\(Self.user):\(Self.password)", "-X", method, book + path, "-w", "\n%{http_code}",
            "--max-time", "30",
        ]
        if let type { arguments += ["-H", "Content-Type: \(type)"] }
        if let body {
            let file = try workplace.write("body-\(UUID().uuidString)", body)
            arguments += ["--data-binary", "@" + file]
        }
        let run = try await workplace.run(tool: "/usr/bin/curl", arguments)
        try run.requireSuccess()
        let status = run.lines.last.flatMap { Int($0) } ?? 0
        guard (200..<300).contains(status) else { throw UnexpectedStatus(status: status, body: run.text) }
    }
}
