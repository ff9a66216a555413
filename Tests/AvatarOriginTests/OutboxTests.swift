#if NIOOrigin
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import AvatarOriginNIO

@Suite("Requests on their way to the event loops", .timeLimit(.minutes(5)))
struct OutboxTests {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    private let outbox: Outbox
    private let sent = Sent()

    private final class Sent: Sendable {
        let numbers = Mutex<[Int]>([])
    }

    init() {
        outbox = Outbox(group)
    }

    @Test("A request waits for others until it is sent off, and goes once")
    func waitsForFlush() async throws {
        add(0..<1)
        #expect(try await settled() == [])
        outbox.flush()
        #expect(try await settled() == [0])
        outbox.flush()
        #expect(try await settled() == [0])
        try await group.shutdownGracefully()
    }

    @Test("Enough of them go by themselves, in their order")
    func fullBatchGoes() async throws {
        add(0..<20)
        #expect(try await settled() == Array(0..<16))
        outbox.flush()
        #expect(try await settled() == Array(0..<20))
        try await group.shutdownGracefully()
    }

    @Test("All of a host are sent by one event loop, and hosts are spread over all")
    func oneLoopAHost() async throws {
        let loops = Mutex<[Int: Set<ObjectIdentifier>]>([:])
        for number in 0..<640 {
            let host = number % 64
            outbox.add(to: "host\(host).example:443") {
                guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return }
                loops.withLock { _ = $0[host, default: []].insert(ObjectIdentifier(loop)) }
            }
        }
        outbox.flush()
        _ = try await settled()
        let seen = loops.withLock { $0 }
        #expect(seen.count == 64)
        #expect(seen.values.allSatisfy { $0.count == 1 })
        #expect(Set(seen.values).count == 2)
        try await group.shutdownGracefully()
    }

    private func add(_ numbers: Range<Int>) {
        for number in numbers {
            outbox.add(to: "a.example:80") { [sent] in sent.numbers.withLock { $0.append(number) } }
        }
    }

    /// The requests sent, after every event loop has finished its work.
    private func settled() async throws -> [Int] {
        for loop in group.makeIterator() { try await loop.submit {}.get() }
        return sent.numbers.withLock { $0 }
    }
}
#endif
