import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `avatars serve` behind the real nginx, with the configuration in `Examples/nginx`.
@Suite(
    .enabled(if: Nginx.isAvailable, Comment(rawValue: Nginx.absence)),
    .timeLimit(.minutes(5))
)
struct ServeBehindNginxTests {
    private static let example = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Examples/nginx/avatars.conf").standardized.path(percentEncoded: false)

    /// Runs `body` with the path of nginx's socket.
    private func withNginx(in workplace: Workplace, _ body: (RawConnection.Place) async throws -> Void) async throws {
        for folder in ["cache", "temporary"] {
            try FileManager.default.createDirectory(atPath: workplace.path(folder), withIntermediateDirectories: true)
        }
        let site = try String(contentsOfFile: Self.example, encoding: .utf8)
            .replacing("/var/cache/nginx-avatars", with: workplace.path("cache"))
            .replacing("unix:/run/avatars.sock", with: "unix:\(workplace.path("server.sock"))")
            .replacing("listen 80;", with: "listen unix:\(workplace.path("nginx.sock"));")
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path temporary/\($0);" }
        try workplace.write(
            "nginx.conf",
            "daemon off; master_process off; pid nginx.pid; events {} http { access_log off; \(folders.joined()) \(site) }"
        )
        let arguments = ["-p", workplace.path, "-c", "nginx.conf", "-e", "stderr"]
        let nginx = try await workplace.start(tool: try #require(Nginx.executable), arguments)
        let front = RawConnection.Place.path(workplace.path("nginx.sock"))
        // The socket is there a moment before nginx listens on it; until then a connection is refused.
        try await waitUntil { (try? RawConnection(front)) != nil }
        do {
            try await body(front)
        } catch {
            nginx.signal(SIGKILL)
            throw error
        }
        nginx.signal(SIGTERM)
        let run = try await nginx.end()
        #expect(run.status == 0, "\(run.messages)")
    }

    @Test func imagesAreCachedByTheirDigest_andEventsPassAtOnce() async throws {
        let workplace = try Workplace()
        let photo = SampleImage.png(seed: 5, byteCount: 200_000)
        try workplace.write("ada.png", photo)
        let card =
            "BEGIN:VCARD\nVERSION:4.0\nUID:ada\nFN:Ada\nPHOTO:data:image/png;base64,"
            + Data(photo).base64EncodedString() + "\nEND:VCARD\n"
        try workplace.write("people.vcf", card)
        try await workplace.run("sync", "people.vcf").requireSuccess()
        try await RunningServer.with(["--socket", "server.sock"], in: workplace) { server in
            try await withNginx(in: workplace) { front in
                let connection = try RawConnection(front)
                let image = try await connection.ask("/contacts/ada/picture")
                let tag = try #require(image["etag"])
                #expect(image.status == 200 && image.body == photo)
                #expect(try await connection.ask("/contacts/ada/picture", ["If-None-Match: \(tag)"]).status == 304)
                let path = try #require(image["content-location"])
                var states: [String] = []
                for _ in 0..<3 {
                    let image = try await connection.ask(path)
                    #expect(image.status == 200 && image.body == photo)
                    states.append(image["x-cache"] ?? "")
                }
                #expect(states == ["MISS", "HIT", "HIT"])
                let encoded = try await connection.ask("/contacts/a%2Fb/picture")
                #expect(encoded.status == 404 && encoded.isProblem)

                let events = try RawConnection(front)
                await events.send("GET /changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
                #expect(try await events.read(until: "retry:").contains("200 OK"))
                try await workplace.run("save", "ada.png", "--name", "me").requireSuccess()
                #expect(try await events.read(until: "name:me").contains("event: change"))
            }
        }
    }
}
