import AvatarCore
import AvatarStoreTesting
import Synchronization
import Testing

@testable import AvatarStore

/// Which reader's request begins, and in which order.
@Suite(.timeLimit(.minutes(5)))
struct RequestQueueTests {
    private final class Diary: Sendable {
        private let lines = Mutex<[String]>([])
        var text: [String] { lines.withLock { $0 } }
        func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private static let result = FetchResult(
        content: .failed(FetchFailure(kind: .gone, message: "")),
        began: Timestamp(milliseconds: 0),
        ended: Timestamp(milliseconds: 0)
    )

    private func key(_ name: String) throws -> AvatarKey { try AvatarKey(url: "https://example.com/\(name).png") }

    @Test func theHighestPriorityGoesFirst_andAReaderCanBeRaised() async throws {
        let queue = RequestQueue(total: 1, perHost: 1)
        let diary = Diary()
        let keys = try ["a", "b", "c", "d"].map(key)
        let (stream, finish) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                _ = try await queue.run("h", for: keys[0], .background) {
                    for await _ in stream {}
                    diary.note("a")
                    return Self.result
                }
            }
            try await waitUntil { queue.activeCount != 0 }
            for (number, priority) in [(1, FetchPriority.background), (2, .normal), (3, .background)] {
                group.addTask {
                    _ = try await queue.run("h", for: keys[number], priority) {
                        diary.note("\(number)")
                        return Self.result
                    }
                }
                try await waitUntil { queue.waitingCount == number }
            }
            queue.wish(queue.newNumber(), for: keys[3], .high)
            finish.finish()
            try await group.waitForAll()
        }
        #expect(diary.text == ["a", "3", "2", "1"])
        #expect(queue.activeCount == 0)
    }

    @Test func aHostAtItsLimitDoesNotDelayOthers() async throws {
        let queue = RequestQueue(total: 3, perHost: 2)
        let diary = Diary()
        let keys = try (0..<4).map { try key("\($0)") }
        let (stream, finish) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                _ = try await queue.run("slow", for: keys[0], .high, isProbe: true) {
                    for await _ in stream {}
                    return Self.result
                }
            }
            try await waitUntil { queue.activeCount != 0 }
            group.addTask {
                _ = try await queue.run("slow", for: keys[1], .high, isProbe: true) {
                    diary.note("slow")
                    return Self.result
                }
            }
            try await waitUntil { queue.waitingCount == 1 }
            _ = try await queue.run("quick", for: keys[2], .background) {
                diary.note("quick")
                return Self.result
            }
            finish.finish()
            try await group.waitForAll()
        }
        #expect(diary.text == ["quick", "slow"])
    }

    @Test func aCancelledReaderLeavesNoTrace() async throws {
        let queue = RequestQueue(total: 1, perHost: 1)
        let first = try key("first")
        let second = try key("second")
        _ = try await queue.run("h", for: first, .normal) {
            let waiting = Task { try await queue.run("h", for: second, .normal) { Self.result } }
            try await waitUntil { queue.waitingCount == 1 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { _ = try await waiting.value }
            #expect(queue.waitingCount == 0)
            return Self.result
        }
        #expect(queue.activeCount == 0)
        _ = try await queue.run("h", for: second, .normal) { Self.result }
    }

    /// A request of a reader that ends makes room for the sync.
    @Test func theSyncIsWokenWhenAReaderEnds() async throws {
        let queue = RequestQueue(total: 1, perHost: 1)
        let bells = Atomic(0)
        queue.beginSync(most: 1, perHost: nil, limits: [:], windows: [:], scatters: false) {
            bells.add(1, ordering: .relaxed)
        }
        _ = try await queue.run("h", for: try key("first"), .normal) {
            #expect(bells.load(ordering: .relaxed) == 0)
            return Self.result
        }
        #expect(bells.load(ordering: .relaxed) == 1)
        queue.endSync()
        _ = try await queue.run("h", for: try key("first"), .normal) { Self.result }
        #expect(bells.load(ordering: .relaxed) == 1)
    }

    private final class Census: Sendable {
        private let state = Mutex((inAll: 0, byHost: [String: Int](), most: 0))
        var most: Int { state.withLock { $0.most } }

        func enter(_ host: String) {
            state.withLock { state in
                state.inAll += 1
                state.byHost[host, default: 0] += 1
                state.most = max(state.most, state.inAll)
                #expect(state.inAll <= 5)
                #expect(state.byHost[host, default: 0] <= 2)
            }
        }

        func leave(_ host: String) {
            state.withLock { state in
                state.inAll -= 1
                state.byHost[host, default: 0] -= 1
            }
        }
    }

    @Test func thereAreNeverMoreRequestsThanAllowed() async throws {
        let queue = RequestQueue(total: 5, perHost: 2)
        let census = Census()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                let name = try key("\(number)")
                let host = "h\(number % 4)"
                group.addTask {
                    _ = try await queue.run(host, for: name, FetchPriority.allCases[number % 3]) {
                        census.enter(host)
                        await Task.yield()
                        census.leave(host)
                        return Self.result
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(census.most > 1)
        #expect(queue.activeCount == 0 && queue.waitingCount == 0)
    }
}
