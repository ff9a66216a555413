import AsyncHTTPClient
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import NIOCore
import Testing

/// The servers of a test: a CardDAV server, an origin of pictures, and the service, all on loopback.
struct Servers {
    let radicale: Radicale
    let origin: LoopbackOrigin
    private let folder: URL

    init(radicale: Radicale, origin: LoopbackOrigin, folder: URL) {
        self.radicale = radicale
        self.origin = origin
        self.folder = folder
    }

    /// A `PHOTO` with the bytes in the card.
    func inline(_ bytes: [UInt8]) -> String {
        "PHOTO;ENCODING=b;TYPE=PNG:" + Data(bytes).base64EncodedString()
    }

    /// A `PHOTO` with a URL; the origin serves `bytes` there.
    func linked(_ bytes: [UInt8], at path: String) -> String {
        origin.setResponse(.image(bytes, etag: nil, cacheControl: "max-age=3600"), for: path)
        return "PHOTO;VALUE=URI:" + origin.url(path)
    }

    var store: String { folder.appending(path: "store").path }

    /// Starts the service for its first round.
    func runOneRound() async throws {
        let service = try await startService(every: 3600)
        #expect(try await eventually { service.rounds == 1 })
        #expect(try await service.program.terminate() == 0, "\(service.program.text)")
    }

    /// Starts the built program, and waits until it listens.
    ///
    /// - Parameter pause: Seconds between two rounds.
    func startService(every pause: Double = 0.1) async throws -> Service {
        let path = Bundle.main.executableURL?.deletingLastPathComponent().appending(path: "ContactsSyncService").path
        let program = try await StartedProgram(
            path ?? "",
            environment: [
                "CARDDAV_URL": radicale.addressBook, "CARDDAV_USER": Radicale.user,
                "CARDDAV_PASSWORD": Radicale.password, "STORE": store, "PORT": "0", "EVERY": "\(pause)",
                "ALLOW_PRIVATE_NETWORK": "1",
            ]
        )
        var port: Int?
        _ = try await eventually {
            port = program.text.firstMatch(of: /listening on port ([0-9]+)/).flatMap { Int($0.1) }
            return port != nil
        }
        guard let port else {
            program.kill()
            throw CocoaError(.executableLoad, userInfo: [NSDebugDescriptionErrorKey: program.text])
        }
        return Service(program: program, url: "http://127.0.0.1:\(port)")
    }
}

/// Runs `body` with servers of its own, and then verifies the store.
func withServers(_ body: (Servers) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "contacts-sync-" + UUID().uuidString)
    let origin = try await LoopbackOrigin.start()
    let radicale = try await Radicale.start(in: folder.appending(path: "radicale"))
    defer {
        radicale.stop()
        // If this fails, the files stay in the temporary directory.
        try? FileManager.default.removeItem(at: folder)
    }
    let servers = Servers(radicale: radicale, origin: origin, folder: folder)
    do {
        try await body(servers)
        let report = try await AvatarStore.verify(AvatarStore.Configuration(directory: servers.store))
        #expect(report.faults.isEmpty, "\(report.faults)")
    } catch {
        try await origin.stop()
        throw error
    }
    try await origin.stop()
}

/// The service as its clients see it.
struct Service {
    let program: StartedProgram
    let url: String

    struct Picture {
        var status: Int
        var mediaType: String
        var bytes: [UInt8]
    }

    /// A page of changes, or the problem document of the status 410.
    struct Changes: Decodable {
        var changes: [Change]?
        var startOver: Bool?
        var next: Int64
    }

    struct Change: Decodable {
        var kind: String
        var owners: [String]
    }

    /// Rounds so far.
    var rounds: Int { program.text.matches(of: /\] synced/).count }

    func picture(_ contact: String) async throws -> Picture {
        let parts = contact.split(separator: "?", maxSplits: 1)
        let query = parts.count > 1 ? "?\(parts[1])" : ""
        let response = try await get("/contacts/\(parts[0])/picture\(query)")
        return Picture(
            status: Int(response.head.status.code),
            mediaType: response.head.headers.first(name: "Content-Type") ?? "",
            bytes: Array(buffer: response.body)
        )
    }

    func changes(since sequence: Int64) async throws -> Changes {
        try JSONDecoder().decode(
            Changes.self,
            from: Data(Array(buffer: try await get("/changes?since=\(sequence)").body))
        )
    }

    private func get(_ path: String) async throws -> (head: HTTPClientResponse, body: ByteBuffer) {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url + path), timeout: .seconds(30))
        return (response, try await response.body.collect(upTo: 1 << 24))
    }
}
