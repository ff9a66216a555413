import AvatarStoreTesting
import Foundation

/// nginx as an origin, with its own configuration and folder. It serves the folder `images`.
///
/// Where the system has more than one loopback address it uses one of its own, so that its ports are free.
package struct Nginx: Sendable {
    /// The path of nginx: `AVATARS_NGINX`, or the usual places. Without it, or without `openssl` for its certificate, the
    /// tests are skipped.
    package static let executable: String? = {
        let places =
            [ProcessInfo.processInfo.environment["AVATARS_NGINX"] ?? ""]
            + ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"].map { $0 + "/nginx" }
        return places.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    package static let isAvailable =
        executable != nil && FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")
    /// The reason shown for skipped tests.
    package static let absence = "needs nginx and openssl: apt-get install nginx-light openssl"

    package let workplace: Workplace
    private let site: NginxSite
    private let program: RunningProgram

    /// Runs `body` with a server, and stops it afterwards.
    package static func withServer(_ body: (Nginx) async throws -> Void) async throws {
        let server = try await start()
        do {
            try await body(server)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    // MARK: URLs and files

    /// The URL of `path`.
    package func url(_ path: String) -> String { "http://\(site.address):\(site.port)\(path)" }

    /// The URL of `path` over TLS, where HTTP/2 is offered.
    package func secureURL(_ path: String) -> String { "https://\(site.address):\(site.securePort)\(path)" }

    /// The URL of `path` over HTTP/2, on a port whose connections end (GOAWAY) after 1 or 20 requests.
    package func restlessURL(_ path: String, after requests: Int) -> String {
        guard let port = site.restlessPorts[requests] else { preconditionFailure("There is no such port.") }
        return "https://\(site.address):\(port)\(path)"
    }

    /// The URL of `path` on another port: another origin with the same files.
    package func otherURL(_ path: String) -> String { "http://\(site.address):\(site.otherPort)\(path)" }

    /// Host and port of `url(_:)`.
    package var host: String { "\(site.address):\(site.port)" }

    /// Host and port of `secureURL(_:)`.
    package var secureAddress: (host: String, port: Int) { (site.address, site.securePort) }

    /// Host and port of `otherURL(_:)`.
    package var otherHost: String { "\(site.address):\(site.otherPort)" }

    /// The certificate to trust, for its address and for `images.example`.
    package var certificateFile: String { workplace.path("certificate.pem") }

    /// Writes a file to be served. Overwriting one moves its modification time by 2 seconds.
    package func serve(_ bytes: [UInt8], at path: String) throws {
        let file = workplace.path("pictures" + path)
        let folder = (file as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let isThere = FileManager.default.fileExists(atPath: file)
        let past = isThere ? try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date : nil
        try Data(bytes).write(to: URL(filePath: file))
        // nginx's validators have a resolution of seconds.
        let date = past.map { $0 + 2 } ?? Date(timeIntervalSinceNow: -86_400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
    }

    // MARK: Requests

    /// A request as nginx logged it.
    package struct Request: Sendable {
        package let httpVersion: String
        package let path: String
        package let status: Int
        package let condition: String
        package let range: String
        package let authorization: String
        /// The number of the connection.
        package let connection: String

        init?(_ line: Substring) {
            let fields = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 7, let status = Int(fields[2]) else { return nil }
            (httpVersion, path, condition, range) = (fields[0], fields[1], fields[3], fields[4])
            (authorization, connection) = (fields[5], fields[6])
            self.status = status
        }
    }

    /// Waits until `count` requests are logged and returns them. nginx logs a request after its response.
    ///
    /// - Throws: `CancellationError` if the task is cancelled, as at the time limit of a test.
    package func requests(_ count: Int) async throws -> [Request] {
        var requests: [Request] = []
        try await waitUntil(every: .milliseconds(10)) {
            let text = try String(decoding: workplace.read("requests.log"), as: UTF8.self)
            requests = text.split(separator: "\n").compactMap(Request.init)
            return requests.count >= count
        }
        return requests
    }

    // MARK: Starting and stopping

    private static func start() async throws -> Nginx {
        var attempts = 0
        while true {
            attempts += 1
            let workplace = try Workplace()
            let site = NginxSite()
            try site.write(to: workplace)
            try await workplace.run(tool: "/usr/bin/openssl", makeCertificate).requireSuccess()
            let arguments = ["-p", workplace.path, "-c", "nginx.conf", "-e", "error.log"]
            let program = try await workplace.start(tool: executable ?? "", arguments)
            // nginx writes the file once it listens on all ports.
            try await waitUntil(every: .milliseconds(5)) {
                try program.hasEnded || workplace.exists("nginx.pid") && !workplace.read("nginx.pid").isEmpty
            }
            if !program.hasEnded { return Nginx(workplace: workplace, site: site, program: program) }
            let run = try await program.end()
            guard attempts < 3 else { throw UnexpectedOutput(text: run.text, messages: run.messages) }
        }
    }

    private static let makeCertificate = [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-config", "openssl.conf", "-keyout", "key.pem", "-out", "certificate.pem",
    ]

    private func stop() async throws {
        program.signal(SIGTERM)
        _ = try await program.end()
    }
}
