import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import HTTPTypes
import Testing

/// Heads and framing that libcurl reads in its own way.
@Suite(.timeLimit(.minutes(5)))
struct FramingTests {
    private func read(_ head: String, _ body: String = "face") async throws -> Received {
        try await withClient { client, origin in
            origin.setResponse(.raw(Array((head + body).utf8)), for: "/a.png")
            return try await AvatarOriginTests.read(client, origin.url("/a.png"))
        }
    }

    /// RFC 9112 section 5.2: a line that begins with a blank goes on with the value before it.
    @Test func foldedLinesBecomeOneValue() async throws {
        let answer = try await read("HTTP/1.1 200 OK\r\nX-A: one\r\n  two\r\n\tthree \r\nContent-Length: 4\r\n\r\n")
        #expect(answer.fields[values: try #require(.init("X-A"))] == ["one two three"])
        #expect(answer.text == "face")
    }

    @Test(arguments: ["ETag:\r\n \"v1\"", "ETag: \r\n\t \"v1\" ", "ETag:\r\n \r\n \"v1\""])
    func valueMayBeginOnTheNextLine(line: String) async throws {
        let answer = try await read("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 4\r\n\r\n")
        #expect(answer.fields[.eTag] == "\"v1\"")
    }

    /// RFC 9110 section 8.6: equal lengths may be combined.
    @Test(arguments: [
        "Content-Length: 4\r\nContent-Length: 4\r\n", "Content-Length: 4, 4\r\n", "Content-Length: 4\t\r\n",
        "Content-Length :\t4 \r\n",
    ])
    func equalLengthsAreOne(lines: String) async throws {
        #expect(try await read("HTTP/1.1 200 OK\r\n\(lines)\r\n", "facesomething else").text == "face")
    }

    @Test(arguments: ["4\r\nContent-Length: 5", "4, 5", "4,", "+4", "4 4", "0x4", "\"4\"", ""])
    func otherLengthsAreRefused(value: String) async throws {
        let failure = await failure { _ = try await read("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n") }
        #expect(failure?.kind == .unreachable)
        #expect(failure?.message.contains("is not valid HTTP") == true)
    }

    @Test(arguments: ["HTTP/1.1 200 OK\nContent-Length: 4\nX-B: c\n\n", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n"])
    func looseHeadsAreRead(head: String) async throws {
        #expect(try await read(head).text == "face")
    }

    @Test func unknownVersionIsRefusedClearly() async throws {
        let failure = await failure { _ = try await read("HTTP/1.2 200 OK\r\nContent-Length: 4\r\n\r\n") }
        #expect(failure?.message.contains("is not valid HTTP") == true)
    }

    // MARK: Interim responses

    @Test(arguments: [(100, true), (101, false)])
    func interimResponsesAreBounded(count: Int, isTaken: Bool) async throws {
        let interim = String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: count)
        let head = interim + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        guard isTaken else {
            #expect(await kind { _ = try await read(head) } == .unreachable)
            return
        }
        let answer = try await read(head)
        #expect(answer.text == "face")
        #expect(answer.fields[values: try #require(.init("Link"))].isEmpty)
    }
}
