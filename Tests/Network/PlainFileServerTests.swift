import AvatarStoreTesting
import Foundation
import Testing

/// A server with `Last-Modified` only, whose 304 carries no validator: Python's.
@Suite(.enabled(if: PlainFileServer.isAvailable, "needs python3: apt-get install python3"), .timeLimit(.minutes(5)))
struct PlainFileServerTests {
    @Test(arguments: [["--strict"], []])
    func unchangedImageIsNotSentAgain(mode: [String]) async throws {
        try await PlainFileServer.withServer { server in
            let url = try server.serve(imageBytes("ada"), at: "ada.png")
            let workplace = try Workplace()
            try workplace.write("list.txt", url + "\n")
            let network = mode + ["--allow-private-network", "--json"]
            _ = try await workplace.run("config", "maximum-freshness", "0")

            let first = try await workplace.start(["sync", "list.txt"] + network).end()
            let second = try await workplace.start(["sync", "list.txt"] + network).end()
            let third = try await workplace.start(["fetch", url, "--policy", "revalidate"] + network).end()

            #expect(try first.object.number("fetched") == 1)
            #expect(try second.object.number("notModified") == 1)
            #expect(try second.object.number("requests") == 1)
            #expect(try second.object.number("bytesReceived") == 0)
            #expect(try third.object.text("outcome") == "notModified")
            #expect(try server.statuses == [200, 304, 304])
        }
    }

    @Test func changedImageReplacesTheOldOne() async throws {
        try await PlainFileServer.withServer { server in
            let url = try server.serve(imageBytes("ada"), at: "ada.png")
            let workplace = try Workplace()
            let fetch = ["fetch", url, "--policy", "revalidate", "--strict", "--allow-private-network", "--json"]
            _ = try await workplace.run("config", "maximum-freshness", "0")
            _ = try await workplace.start(fetch).end()
            try server.serve(imageBytes("ada", version: 2), at: "ada.png", age: 60)

            let run = try await workplace.start(fetch).end()

            #expect(try run.object.text("outcome") == "fetched")
            #expect(try server.statuses == [200, 200])
            let bytes = try await workplace.run("get", url, "--policy", "offline").bytes
            #expect(bytes == imageBytes("ada", version: 2))
        }
    }
}

/// `python3 -m http.server` on a free port of loopback.
private struct PlainFileServer {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

    private let workplace: Workplace
    private let program: RunningProgram
    private let address: String

    /// Runs `body` with a server, and stops it afterwards.
    static func withServer(_ body: (PlainFileServer) async throws -> Void) async throws {
        let server = try await start()
        do {
            try await body(server)
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    /// Writes a file that was modified `age` seconds ago, and returns its URL.
    @discardableResult
    func serve(_ bytes: [UInt8], at name: String, age: TimeInterval = 86_400) throws -> String {
        try workplace.write(name, bytes)
        let date = Date(timeIntervalSinceNow: -age)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: workplace.path(name))
        return address + name
    }

    /// The status of each response so far. A line is written before its response is sent.
    var statuses: [Int] {
        get throws {
            try program.messages.split(separator: "\n").compactMap { line in
                line.split(separator: "\" ").last.flatMap { Int($0.prefix(3)) }
            }
        }
    }

    private static func start() async throws -> PlainFileServer {
        let workplace = try Workplace()
        let arguments = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
        let program = try await workplace.start(tool: "/usr/bin/python3", arguments)
        // "Serving HTTP on 127.0.0.1 port 33333 (http://127.0.0.1:33333/) ..."
        try await waitUntil(every: .milliseconds(5)) { try !program.lines.isEmpty || program.hasEnded }
        let message = try #require(try program.lines.first)
        let start = try #require(message.range(of: "(http"))
        let end = try #require(message.range(of: ") ..."))
        let address = String(message[message.index(after: start.lowerBound)..<end.lowerBound])
        return PlainFileServer(workplace: workplace, program: program, address: address)
    }

    private func stop() async throws {
        program.signal(SIGTERM)
        _ = try await program.end()
    }
}
