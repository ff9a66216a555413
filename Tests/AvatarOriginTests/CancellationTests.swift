#if os(Linux)
import AvatarCore
import AvatarProviders
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Synchronization
import Testing

@testable import AvatarOrigin

/// Cancelled requests leave nothing behind: no request in the engine, and no socket. The client is the one on libcurl.
@Suite(.timeLimit(.minutes(10)))
struct CancellationTests {
    /// The state in which a request is cancelled.
    enum State: CaseIterable, Sendable {
        /// It waits for one of the connections of its host.
        case queued
        /// Its host name is looked up.
        case resolving
        /// Its connection is not there yet.
        case connecting
        /// The head of its response is awaited.
        case waiting
        /// Its body drips.
        case reading
        /// Its reader takes nothing.
        case paused
    }

    private static let count = TestMode.isThorough ? 10_000 : 300
    /// The number of requests at once.
    private static let width = 50

    @Test(arguments: State.allCases)
    func cancelledRequestLeavesNothing(state: State) async throws {
        let blackHole = try BlackHole()
        let ownSockets = try Sockets.count(to: blackHole.port)
        let lookups = LookupGate()
        var configuration = OriginConfiguration()
        configuration.allowsPrivateNetworks = true
        configuration.connectionsPerHost = state == .queued ? 1 : Self.width
        // Ten thousand requests take longer than the default, and the first one hangs all the time.
        configuration.idleTimeoutSeconds = 3600
        configuration.resolver = NameLookup.Resolver(ask: { _ in lookups.wait() }, hasRoute: { true })
        let client = try HTTPOrigin(configuration: configuration)
        let origin = try await LoopbackOrigin.start { request in
            let body = LoopbackOrigin.Response(body: .generated(byteCount: 10_000_000))
            return switch request.path {
            case "/reading": body.behaving(.drip(byteCount: 1, interval: .milliseconds(5)))
            case "/paused": body
            case "/ready": LoopbackOrigin.Response(body: .text("face"))
            default: .hang
            }
        }
        // The one connection of its host is taken.
        let first = Task { _ = try await read(client, origin.url("/first")) }
        try await origin.waitForRequests()

        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<Self.count {
                if number >= Self.width { try await group.next() }
                group.addTask {
                    let url =
                        switch state {
                        case .resolving: "http://host\(number % 200).example:\(origin.port)/a.png"
                        case .connecting: "http://127.0.0.1:\(blackHole.port)/\(number)"
                        case .queued: origin.url("/queued")
                        default: origin.url("/\(state)?\(number)")
                        }
                    try await Self.cancel(state, client, origin, url)
                }
            }
            try await group.waitForAll()
        }

        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        let load = await client.driver.load()
        #expect(load == CurlDriver.Load(inProgress: 0, queued: 0))
        // The client still works, with all of its connections.
        #expect(try await read(client, origin.url("/ready")).text == "face")
        lookups.open()
        try await client.shutdown()
        #expect(try Sockets.count(to: origin.port) == 0)
        // After a while the system gives up connections of its own.
        #expect(try Sockets.count(to: blackHole.port) <= ownSockets)
        try await origin.waitForNoConnection()
        try await origin.stop()
        blackHole.close()
    }

    /// Sends a request, cancels it in `state`, and requires a `CancellationError`.
    private static func cancel(
        _ state: State,
        _ client: HTTPOrigin,
        _ origin: LoopbackOrigin,
        _ url: String
    ) async throws {
        let (reading, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await client.send(OriginRequest(url: url)) { response in
                _ = try await response.body.next()
                hasBegun.finish()
                if state == .paused { try await Task.sleep(for: .seconds(60)) }
                while try await response.body.next() != nil {}
            }
        }
        switch state {
        case .reading, .paused:
            for await _ in reading {}
        case .waiting:
            let target = url.dropFirst(origin.url("").count - 1)
            try await origin.waitForRequests(for: String(target))
        case .queued, .resolving, .connecting:
            // None of these can go on, so each moment is one of the state, or before it.
            for _ in 0..<Int.random(in: 0...20) { await Task.yield() }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

/// Name lookups without an answer until the test ends.
private final class LookupGate: Sendable {
    private let condition = NSCondition()
    private let isOpen = Mutex(false)

    func wait() -> NameLookup.Answer {
        condition.withLock {
            while !isOpen.withLock({ $0 }) { condition.wait() }
        }
        return .noSuchName
    }

    func open() {
        condition.withLock {
            isOpen.withLock { $0 = true }
            condition.broadcast()
        }
    }
}

/// A port at 127.0.0.1 to which no connection comes up: its queue of connections is full, and no one accepts them.
private struct BlackHole {
    let port: Int
    private let descriptors: [CInt]

    init() throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 0) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard listener >= 0, isBound else { throw POSIXError(.EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
        // One more than the queue takes, without waiting for it.
        var clients: [CInt] = []
        for _ in 0..<3 {
            let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
            _ = withUnsafePointer(to: address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, size) }
            }
            clients.append(client)
        }
        descriptors = [listener] + clients
    }

    func close() {
        for descriptor in descriptors { _ = Glibc.close(descriptor) }
    }
}

/// The sockets of this machine, as Linux lists them.
private enum Sockets {
    /// The number of open sockets that are connected, or connecting, to `port`.
    static func count(to port: Int) throws -> Int {
        let table = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
        return table.split(separator: "\n").dropFirst().count { line in
            let columns = line.split(separator: " ")
            // Without an inode, no process holds it.
            guard columns.count > 9, columns[9] != "0", let peer = columns[2].split(separator: ":").last else {
                return false
            }
            return Int(peer, radix: 16) == port
        }
    }
}
#endif
