import AvatarCore
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

@testable import AvatarOrigin

/// The thread of the libcurl client.
@Suite(.timeLimit(.minutes(5)))
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

    /// Eight connections that were kept all end at their next request.
    @Test func requestThatLosesAKeptConnectionGetsANewOne() async throws {
        try await RawOrigin.withOrigin(repliesPerConnection: 1) { origin in
            let client = try HTTPOrigin(configuration: configuration())
            for round in 0..<3 {
                let answers = try await withThrowingTaskGroup(of: Received.self) { group in
                    for number in 0..<8 {
                        group.addTask { try await read(client, origin.url("/\(round)/\(number).png")) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.allSatisfy { $0.status == 200 && $0.requests <= 2 })
            }
            try await client.shutdown()
        }
    }

    /// The system may refuse the call that wakes the thread, which would sleep for a minute.
    @Test func requestAndShutdownGoOnIfTheThreadCannotBeWoken() async throws {
        let failures = Mutex(0)
        let client = try HTTPOrigin(
            configuration: configuration(),
            wake: { engine in
                let fails = failures.withLock { count in
                    defer { count = max(0, count - 1) }
                    return count > 0
                }
                return !fails && CurlDriver.wakeThread(engine)
            }
        )
        let origin = try await LoopbackOrigin.start()
        origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/a.png")
        _ = try await read(client, origin.url("/a.png"))

        let begun = ContinuousClock.now
        failures.withLock { $0 = 1 }
        // Only a thread that sleeps is woken.
        while failures.withLock({ $0 }) > 0 {
            #expect(try await read(client, origin.url("/a.png")).text == "here")
        }
        failures.withLock { $0 = 1 }
        try await client.shutdown()

        #expect(ContinuousClock.now - begun < .seconds(20))
        try await origin.stop()
    }

    @Test func missingLibraryIsNamed() async throws {
        let client = try HTTPOrigin(configuration: configuration()) { _ in CurlDriver.noLibrary }

        let failure = await failure { _ = try await read(client, "http://127.0.0.1:1/a.png") }

        #expect(failure?.kind == .offline)
        #expect(failure?.message.contains("libcurl cannot be loaded; install it") == true)
        try await client.shutdown()
    }

    @Test func clientThatIsReleasedClosesItsConnections() async throws {
        let origin = try await LoopbackOrigin.start()
        do {
            let client = try HTTPOrigin(configuration: configuration())
            _ = try await read(client, origin.url("/a.png"))
            #expect(origin.openConnections == 1)
        }
        try await origin.waitForNoConnection()
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
}
