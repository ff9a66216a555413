import Foundation

/// `avatars serve` at work in a folder.
package struct RunningServer: Sendable {
    package let workplace: Workplace
    package let program: RunningProgram
    package let place: RawConnection.Place

    /// Starts `avatars serve` on a free port, or on the socket that `arguments` name, and waits until it listens.
    package static func start(_ arguments: [String] = [], in workplace: Workplace) async throws -> RunningServer {
        let path = arguments.firstIndex(of: "--socket").map { arguments[$0 + 1] }
        let listening = path == nil ? ["--listen", "127.0.0.1:0"] : []
        let program = try await workplace.start(["serve"] + listening + arguments)
        try await program.says("listening on ", orEnds: true)
        if let path { return RunningServer(workplace: workplace, program: program, place: .path(workplace.path(path))) }
        let messages = try program.messages
        guard let match = messages.firstMatch(of: /listening on http:\/\/127\.0\.0\.1:(\d+)\//), let port = Int(match.1)
        else { throw UnexpectedOutput(text: "", messages: messages) }
        return RunningServer(workplace: workplace, program: program, place: .port(port))
    }

    /// Runs `body` with a server, and ends it afterwards.
    @discardableResult
    package static func with(
        _ arguments: [String] = [],
        in workplace: Workplace,
        _ body: (RunningServer) async throws -> Void
    ) async throws -> Run {
        let server = try await start(arguments, in: workplace)
        do {
            try await body(server)
        } catch {
            server.program.signal(SIGKILL)
            _ = try await server.program.end()
            throw error
        }
        server.program.signal(SIGTERM)
        return try await server.program.end()
    }

    /// A new connection to it.
    package func connect(receiveBuffer: Int32? = nil) throws -> RawConnection {
        try RawConnection(place, receiveBuffer: receiveBuffer)
    }

    /// The response to one request on a connection of its own.
    package func ask(_ target: String, _ fields: [String] = [], method: String = "GET") async throws -> HTTPReply {
        try await connect().ask(target, fields, method: method)
    }
}
