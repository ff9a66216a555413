import AvatarStoreTesting
import Foundation
import NIOCore
import NIOEmbedded
import ProgramRunning
import Synchronization
import Testing

@testable import avatars

/// The limits of the server, made short.
@Suite(.timeLimit(.minutes(5))) struct ServerLimitTests {
    @Test(arguments: ["", "GET /", "GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
    func headThatDoesNotEndIsGivenUp(head: String) async throws {
        var limits = ServerLimits()
        limits.headTime = .milliseconds(200)
        try await LimitedServer.with(limits) { place, _ in
            let connection = try RawConnection(place)
            let begin = ContinuousClock.now
            await connection.send(head)
            let trickle = Task {
                while !Task.isCancelled {
                    await connection.send(head.isEmpty ? "" : "a")
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(try await connection.readToEnd().isEmpty)
            trickle.cancel()
            #expect(ContinuousClock.now - begin >= .milliseconds(190))
        }
    }

    @Test func waitingConnectionIsClosed_butNotOneWithAResponseUnderWay() async throws {
        var limits = ServerLimits()
        limits.headTime = .milliseconds(200)
        try await LimitedServer.with(limits) { place, _ in
            let download = try RawConnection(place, receiveBuffer: 65_536)
            await download.send("GET /contacts/ada/picture HTTP/1.1\r\nHost: localhost\r\n\r\n")
            var bytes = try await download.read(atMost: 1024)
            let idle = try RawConnection(place)
            #expect(try await idle.ask("/healthz").status == 200)

            #expect(try await idle.readToEnd().isEmpty)

            let head = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
            while bytes.count < head + LimitedServer.photo.count { bytes += try await download.read() }
            #expect(bytes.suffix(1000) == LimitedServer.photo.suffix(1000))
        }
    }

    /// The last bytes still wait in the server when the response has ended.
    @Test(arguments: ["1.1\r\nConnection: close", "1.0"])
    func largeImageIsCompleteBeforeTheConnectionEnds(version: String) async throws {
        try await LimitedServer.with(ServerLimits()) { place, _ in
            let connection = try RawConnection(place, receiveBuffer: 65_536)
            await connection.send("GET /contacts/ada/picture HTTP/\(version)\r\nHost: localhost\r\n\r\n")
            let all = try await connection.readToEnd()
            let body = try #require(HTTPReply.parse(all, isHead: false, isEnd: true)).0.body
            #expect(body == LimitedServer.photo)
        }
    }

    @Test func contentBeyondTheLimitEndsTheConnection() async throws {
        var limits = ServerLimits()
        limits.contentBytes = 10
        try await LimitedServer.with(limits) { place, _ in
            let connection = try RawConnection(place)
            #expect(try await connection.ask("/healthz", ["Content-Length: 20"]).status == 200)
            await connection.send("12345678901234567890")
            #expect(try await connection.readToEnd().isEmpty)
        }
    }

    @Test func connectionBeyondTheLimitWaits() async throws {
        var limits = ServerLimits()
        limits.connections = 20
        limits.leastWait = .minutes(1)
        try await LimitedServer.with(limits) { place, _ in
            var open: [RawConnection] = []
            for _ in 0..<20 {
                open.append(try RawConnection(place))
                #expect(try await open[open.count - 1].ask("/healthz").status == 200)
            }
            let next = try RawConnection(place)
            let isAnswered = Mutex(false)
            let answer = Task {
                let status = try await next.ask("/healthz").status
                isAnswered.withLock { $0 = true }
                return status
            }
            // Meanwhile the server has responded to many later requests.
            for _ in 0..<10 {
                for connection in open { #expect(try await connection.ask("/healthz").status == 200) }
            }
            #expect(isAnswered.withLock { !$0 })
            open.removeAll()
            #expect(try await answer.value == 200)
        }
    }

    /// Clients that send nothing, or half a request, do not keep others out.
    @Test(arguments: ["", "GET /healthz HTTP/1.1\r\n"])
    func longestWaitingConnectionMakesRoom(head: String) async throws {
        var limits = ServerLimits()
        limits.connections = 8
        limits.leastWait = .zero
        try await LimitedServer.with(limits) { place, _ in
            var slow: [RawConnection] = []
            for _ in 0..<20 {
                slow.append(try RawConnection(place))
                await slow[slow.count - 1].send(head)
            }
            #expect(try await RawConnection(place).ask("/healthz").status == 200)
            #expect(try await slow[0].readToEnd().isEmpty)
        }
    }

    @Test func clientsAreCountedByTheirNetworks() throws {
        func client(_ address: String) throws -> String? {
            OpenConnections.client(at: try SocketAddress(ipAddress: address, port: 1))?.description
        }
        #expect(try client("192.0.2.7") == "192.0.2.7")
        #expect(try client("::ffff:192.0.2.7") == "192.0.2.7")
        #expect(try client("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::")
        for address in ["127.0.0.1", "127.9.9.9", "::1"] { #expect(try client(address) == nil) }
        #expect(OpenConnections.client(at: try SocketAddress(unixDomainSocketPath: "/run/x")) == nil)
        #expect(OpenConnections.client(at: nil) == nil)
    }

    @Test func clientHasALimitedNumberOfConnections_butNotOneOnLoopback() throws {
        func channel(from address: String) throws -> EmbeddedChannel {
            let channel = EmbeddedChannel()
            try channel.connect(to: try SocketAddress(ipAddress: address, port: 1)).wait()
            return channel
        }
        let connections = OpenConnections()
        let open = try (0..<3).map { _ in try channel(from: "192.0.2.7") }
        for channel in open { #expect(connections.add(channel, atMost: 3) != nil) }

        #expect(connections.add(try channel(from: "192.0.2.7"), atMost: 3) == nil)
        #expect(connections.add(try channel(from: "192.0.2.8"), atMost: 3) != nil)
        for _ in 0..<5 { #expect(connections.add(try channel(from: "127.0.0.1"), atMost: 3) != nil) }
        try open[0].close().wait()
        open[0].embeddedEventLoop.run()
        #expect(connections.add(try channel(from: "192.0.2.7"), atMost: 3) != nil)
    }

    @Test func eventsLeaveRoomForOthers() async throws {
        var limits = ServerLimits()
        limits.connections = 8
        try await LimitedServer.with(limits) { place, _ in
            var streams: [RawConnection] = []
            for _ in 0..<4 {
                let stream = try RawConnection(place)
                await stream.send("GET /changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
                #expect(try await stream.read(until: "retry:").contains("200 OK"))
                streams.append(stream)
            }
            let fifth = try await RawConnection(place).ask("/changes", ["Accept: text/event-stream"])
            #expect(fifth.status == 503 && fifth.isProblem && fifth["retry-after"] == "30")
            #expect(try await RawConnection(place).ask("/changes").status == 200)
            // The end of a stream makes room for another one. A failed write would show it only after a comment or two, which
            // come every 15 seconds.
            streams.removeLast()
            #expect(try await LimitedServer.waitForEventStream(place) < 100)
        }
    }

    /// The listener closes while connections come, and drops those that it has just accepted.
    @Test func connectionsThatComeDuringTheShutdownEndNoProcess() async throws {
        for _ in 0..<20 {
            var limits = ServerLimits()
            limits.shutdownTime = .milliseconds(1)
            try await LimitedServer.with(limits) { place, _ in
                for _ in 0..<4 {
                    Thread.detachNewThread {
                        var latest: RawConnection?
                        // The listener refuses connections once it is closed.
                        while let connection = try? RawConnection(place) { latest = connection }
                        withExtendedLifetime(latest) {}
                    }
                }
                let connection = try RawConnection(place)
                #expect(try await connection.ask("/healthz").status == 200)
            }
        }
    }
}
