import AsyncHTTPClient
import AvatarStoreTesting
import Foundation
import NIOCore
import NIOHTTP1

/// A CardDAV server on loopback: Radicale, with one user and one address book in a folder of its own.
struct Radicale {
    let addressBook: String
    private let folder: URL
    private let program: StartedProgram

    static let user = "ada"
    static let password = "a secret & more"

    /// The path of the program; `nil` if it is not installed.
    static let path: String? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return ((tools.map { [$0 + "/bin"] } ?? []) + folders).map { "\($0)/radicale" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// The folder of the server and its modules, which `scripts/example` fills.
    private static let tools = ProcessInfo.processInfo.environment["AVATARS_DAV"]

    /// Starts the server in `folder`, with an empty address book.
    static func start(in folder: URL) async throws -> Radicale {
        let path = try path ?? { throw CocoaError(.fileNoSuchFile) }()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Finds a free port.
        let origin = try await LoopbackOrigin.start()
        let address = "127.0.0.1:\(origin.port)"
        try await origin.stop()
        let users = folder.appending(path: "users")
        try Data("\(user):\(password)\n".utf8).write(to: users)
        let configuration = """
            [server]
            hosts = \(address)
            [auth]
            type = htpasswd
            htpasswd_filename = \(users.path)
            htpasswd_encryption = plain
            delay = 0
            [storage]
            filesystem_folder = \(folder.path)
            """
        let file = folder.appending(path: "config")
        try Data(configuration.utf8).write(to: file)
        let program = try await StartedProgram(
            path,
            ["--config", file.path],
            environment: tools.map { ["PYTHONPATH": $0] } ?? [:]
        )
        let server = Radicale(addressBook: "http://\(address)/ada/people/", folder: folder, program: program)
        let isThere = try await eventually {
            do {
                return try await server.makeAddressBook()
            } catch {
                return false
            }
        }
        guard isThere else {
            program.kill()
            throw CocoaError(.executableLoad, userInfo: [NSDebugDescriptionErrorKey: program.text])
        }
        return server
    }

    func stop() {
        program.kill()
    }

    func put(_ name: String, _ lines: String...) async throws {
        let card = ["BEGIN:VCARD", "VERSION:3.0", "UID:\(name)", "FN:\(name)"] + lines + ["END:VCARD", ""]
        try await request(.PUT, name + ".vcf", card.joined(separator: "\r\n"), type: "text/vcard")
    }

    func delete(_ name: String) async throws {
        try await request(.DELETE, name + ".vcf", "", type: "text/vcard")
    }

    /// Makes the server forget all sync tokens that it gave out.
    func forgetTokens() throws {
        let tokens = folder.appending(path: "collection-root/ada/people/.Radicale.cache/sync-token")
        try FileManager.default.removeItem(at: tokens)
    }

    private func makeAddressBook() async throws -> Bool {
        let body = """
            <mkcol xmlns="DAV:"><set><prop><resourcetype><collection/>\
            <addressbook xmlns="urn:ietf:params:xml:ns:carddav"/></resourcetype></prop></set></mkcol>
            """
        try await request(.RAW(value: "MKCOL"), "", body, type: "application/xml")
        return true
    }

    private func request(_ method: HTTPMethod, _ path: String, _ body: String, type: String) async throws {
        var request = HTTPClientRequest(url: addressBook + path)
        request.method = method
        request.setBasicAuth(username: Self.user, password: Self.password)
        request.headers.add(name: "Content-Type", value: type)
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        _ = try await response.body.collect(upTo: 1 << 20)
        guard (200..<300).contains(response.status.code) else {
            throw URLError(.badServerResponse, userInfo: [NSDebugDescriptionErrorKey: "\(response.status) \(path)"])
        }
    }
}
