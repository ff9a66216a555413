import Foundation
import Testing

/// Several requests at once over one connection of `avatars serve`. The event loop answers those for images by itself,
/// and hands the others on to a task.
@Suite(.timeLimit(.minutes(5))) struct ServeOrderTests {
    /// Runs `body` with the port of a server on an empty store.
    private func withServer(_ body: (Int) throws -> Void) async throws {
        let workplace = try Workplace()
        let server = try await workplace.start(["serve", "--listen", "127.0.0.1:0"])
        try await server.says("/\n")
        let address = try #require(try server.messages.split(separator: "\n").first { $0.contains("listening on") })
        let port = address.split(separator: ":").last.flatMap { Int($0.filter(\.isNumber)) }
        try body(#require(port))
        server.signal(SIGTERM)
        _ = try await server.end()
    }

    /// Sends `text`, ends this side of the connection, and reads until the server closes it.
    private func exchange(_ text: String, port: Int) throws -> String {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try #require(isConnected)
        let bytes = Array(text.utf8)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        shutdown(descriptor, Int32(SHUT_WR))
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        return String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
    }

    /// The status of each response; a head may follow the bytes before it without a line break.
    private func statuses(_ answers: String) -> [String] {
        answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
    }

    @Test func responsesKeepTheOrderOfTheRequests() async throws {
        try await withServer { port in
            let paths = [
                "/contacts/a/picture", "/healthz", "/contacts/a/picture", "/images/a.png", "/healthz", "/readyz",
            ]
            let requests = paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }

            let answers = try exchange(requests.joined(), port: port)

            #expect(statuses(answers) == ["404", "200", "404", "404", "200", "200"])
        }
    }

    @Test func allResponsesAreSentToAClientThatEndedItsSide() async throws {
        try await withServer { port in
            let request = "GET /contacts/a/picture?placeholder=initials HTTP/1.1\r\nHost: localhost\r\n\r\n"

            let answers = try exchange(String(repeating: request, count: 400), port: port)

            #expect(statuses(answers).count == 400)
        }
    }

    @Test func requestForAImageWithABodyIsAnswered() async throws {
        try await withServer { port in
            let request = "GET /contacts/a/picture HTTP/1.1\r\nHost: localhost\r\n"

            let answers = try exchange(request + "Content-Length: 3\r\n\r\nabc" + request + "\r\n", port: port)

            #expect(statuses(answers) == ["404", "404"])
        }
    }
}
