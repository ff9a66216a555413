import AvatarCore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

@testable import AvatarOrigin

/// The thread of the libcurl client.
@Suite(.timeLimit(.minutes(1)))
struct EngineTests {
    private func configuration() -> OriginConfiguration {
        var configuration = OriginConfiguration()
        configuration.allowsPrivateNetworks = true
        return configuration
    }

    @Test func missingThreadFailsTheRequest_andTheNextOneTriesAgain() async throws {
        let failures = Mutex(1)
        let client = try HTTPOrigin(configuration: configuration()) { driver in
            let fails = failures.withLock { count in
                count -= 1
                return count >= 0
            }
            return fails ? EAGAIN : CurlDriver.thread(driver)
        }
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/a.png")

        let failure = await failure { _ = try await read(client, origin.url("/a.png")) }
        #expect(failure?.kind == .offline)
        #expect(failure?.message.contains("the HTTP client cannot start") == true)
        #expect(try await read(client, origin.url("/a.png")).text == "here")

        try await client.shutdown()
        try await origin.stop()
    }

    @Test func clientThatIsReleasedClosesItsConnections() async throws {
        let origin = try await LoopbackOrigin.start()
        do {
            let client = try HTTPOrigin(configuration: configuration())
            _ = try await read(client, origin.url("/a.png"))
            #expect(origin.openConnections == 1)
        }
        while origin.openConnections > 0 { await Task.yield() }
        try await origin.stop()
    }

    @Test func clientWithoutRequestsMakesNoThread() async throws {
        let started = Mutex(0)
        let client = try HTTPOrigin(configuration: configuration()) { driver in
            started.withLock { $0 += 1 }
            return CurlDriver.thread(driver)
        }
        client.flush()
        try await client.shutdown()
        try await client.shutdown()
        #expect(started.withLock { $0 } == 0)
    }

    /// With one connection, a request waits for the one before. It leaves at once when it is cancelled.
    @Test func requestThatWaitsForAConnectionIsCancelled() async throws {
        var configuration = configuration()
        configuration.connectionsPerHost = 1
        let client = try HTTPOrigin(configuration: configuration)
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(.hang, for: "/a.png")
        let url = origin.url("/a.png")
        let first = Task { try await read(client, url) }
        while origin.requestCount == 0 { await Task.yield() }
        let second = Task { try await read(client, url) }
        try await Task.sleep(for: .milliseconds(50))

        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(origin.requestCount == 1)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        try await client.shutdown()
        try await origin.stop()
    }

    /// A reader that takes nothing stops the origin.
    @Test func bodyThatIsNotReadIsHeldBack() async throws {
        let client = try HTTPOrigin(configuration: configuration())
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 100_000_000)), for: "/a.png")

        let count = try await client.send(OriginRequest(url: origin.url("/a.png"))) { response in
            let first = try await response.body.next()?.count ?? 0
            try await Task.sleep(for: .milliseconds(300))
            return first
        }

        #expect(count <= OriginArrival.wholeBodyLimit)
        // The sockets of both sides hold some megabytes.
        #expect(origin.bytesSent < 20_000_000)
        try await client.shutdown()
        try await origin.stop()
    }
}
