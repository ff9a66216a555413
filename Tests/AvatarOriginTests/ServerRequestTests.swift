import AvatarOrigin
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Requests with a method, a body and a signature, beside those of images.
@Suite(.timeLimit(.minutes(5)))
struct ServerRequestTests {
    private static let signature = ServerRequest.Signature(
        key: "AKIA",
        secret: "s3cret",
        parameters: "aws:amz:us-east-1:s3"
    )

    /// An exchange of libcurl serves one request after the other, and must not give the next one what it had for the last.
    @Test func nextRequestHasNothingOfASignedOne() async throws {
        try await withClient({ $0.connectionsPerHost = 1 }) { client, origin in
            var request = ServerRequest("PUT", origin.url("/object"), body: [1, 2, 3], bodyLimit: 100)
            request.signature = Self.signature
            for _ in 0..<3 {
                let response = try await client.exchange(request)
                #expect(response.head.status == 404)
                _ = try await read(client, origin.url("/face.png"))
            }
            let (puts, gets) = (
                origin.requests.filter { $0.method == "PUT" }, origin.requests.filter { $0.method == "GET" }
            )
            #expect(puts.count == 3 && gets.count == 3)
            #expect(puts.allSatisfy { $0.path == "/object" && $0.headers["Authorization"]?.contains("AKIA") == true })
            for get in gets {
                #expect(get.path == "/face.png" && get.headers["Authorization"] == nil)
                #expect(get.headers["Content-Length"] == nil && get.headers["X-Amz-Date"] == nil)
                #expect(get.headers["User-Agent"] == "AvatarStore")
            }
        }
    }

    @Test func redirectIsAResponseLikeAnyOther() async throws {
        try await withClient { client, origin in
            origin.setResponse(.redirect(to: "/other"), for: "/object")
            let response = try await client.exchange(ServerRequest("GET", origin.url("/object"), bodyLimit: 100))
            #expect(response.head.status == 302 && origin.requestCount == 1)
        }
    }

    @Test func bodyOverTheLimitIsCutOff() async throws {
        try await withClient { client, origin in
            origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000)), for: "/object")
            for limit in [0, 100, 999_999, 1_000_000] {
                let response = try await client.exchange(ServerRequest("GET", origin.url("/object"), bodyLimit: limit))
                #expect(response.isTooLarge == (limit < 1_000_000) && response.body.count == limit)
            }
        }
    }

    /// A peer that takes the body slowly sends nothing until the end.
    @Test func slowUploadIsNotSilence() async throws {
        let server = try SlowReader()
        // libcurl waits a second for "100 Continue" before it sends the body, and a busy machine makes pauses of its own.
        try await withClient({ $0.idleTimeoutSeconds = 8 }) { client, _ in
            // More than the buffers of the sockets hold.
            let body = [UInt8](repeating: 7, count: 24 << 20)
            let start = ContinuousClock.now
            let request = ServerRequest("PUT", "http://127.0.0.1:\(server.port)/object", body: body, bodyLimit: 100)
            let response = try await client.exchange(request)
            #expect(response.head.status == 200)
            #expect(ContinuousClock.now - start > .seconds(8))
        }
    }
}

/// A server for one request, which it reads in ten seconds.
private final class SlowReader: Sendable {
    let port: UInt16

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Else the system may take all of the body from the client at once, which then hears nothing until the server has read it.
        var buffer: Int32 = 256 << 10
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        try #require(isListening)
        port = UInt16(bigEndian: address.sin_port)
        let thread = Thread {
            let peer = accept(listener, nil, nil)
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            var received = 0
            // The head has some hundred bytes.
            while received < 24 << 20 {
                let count = recv(peer, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                received += count
                // Slow on purpose: this is the pace that the test is about.
                usleep(UInt32(10_000_000 * count / (24 << 20)))
            }
            let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
            _ = write(peer, response, response.count)
            close(peer)
            close(listener)
        }
        thread.start()
    }
}
