import AvatarCore
import AvatarStoreTesting
import Synchronization
import Testing

@testable import AvatarStore

/// Which request gets a connection slot, and in which order.
@Suite(.timeLimit(.minutes(5)))
struct FetchSlotsTests {
    private final class Diary: Sendable {
        private let lines = Mutex<[String]>([])
        var text: [String] { lines.withLock { $0 } }
        func note(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private func key(_ name: String) throws -> AvatarKey { try AvatarKey(url: "https://example.com/\(name).png") }

    @Test func theHighestPriorityGoesFirst_andAWaiterCanBeRaised() async throws {
        let slots = FetchSlots(total: 1, perHost: 1)
        let diary = Diary()
        let keys = try ["a", "b", "c", "d"].map(key)
        let (stream, finish) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await slots.withSlot("h", for: keys[0], .background) {
                    for await _ in stream {}
                    diary.note("a")
                }
            }
            try await waitUntil { slots.activeCount != 0 }
            for (number, priority) in [(1, FetchPriority.background), (2, .normal), (3, .background)] {
                group.addTask {
                    try await slots.withSlot("h", for: keys[number], priority) { diary.note("\(number)") }
                }
                try await waitUntil { slots.waitingCount == number }
            }
            slots.setPriority(.high, of: keys[3])
            finish.finish()
            try await group.waitForAll()
        }
        #expect(diary.text == ["a", "3", "2", "1"])
        #expect(slots.activeCount == 0)
    }

    @Test func aHostAtItsLimitDoesNotDelayOthers() async throws {
        let slots = FetchSlots(total: 3, perHost: 2)
        let diary = Diary()
        let keys = try (0..<4).map { try key("\($0)") }
        let (stream, finish) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await slots.withSlot("slow", for: keys[0], .high, limit: 1) { for await _ in stream {} }
            }
            try await waitUntil { slots.activeCount != 0 }
            group.addTask { try await slots.withSlot("slow", for: keys[1], .high, limit: 1) { diary.note("slow") } }
            try await waitUntil { slots.waitingCount == 1 }
            try await slots.withSlot("quick", for: keys[2], .background) { diary.note("quick") }
            finish.finish()
            try await group.waitForAll()
        }
        #expect(diary.text == ["quick", "slow"])
    }

    @Test func aCancelledWaiterLeavesTheQueue() async throws {
        let slots = FetchSlots(total: 1, perHost: 1)
        let first = try key("first")
        let second = try key("second")
        try await slots.withSlot("h", for: first, .normal) {
            let waiting = Task { try await slots.withSlot("h", for: second, .normal) {} }
            try await waitUntil { slots.waitingCount == 1 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(slots.waitingCount == 0)
        }
        #expect(slots.activeCount == 0)
        try await slots.withSlot("h", for: second, .normal) {}
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

    @Test func thereAreNeverMoreRequestsThanSlots() async throws {
        let slots = FetchSlots(total: 5, perHost: 2)
        let census = Census()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                let name = try key("\(number)")
                let host = "h\(number % 4)"
                group.addTask {
                    try await slots.withSlot(host, for: name, FetchPriority.allCases[number % 3]) {
                        census.enter(host)
                        await Task.yield()
                        census.leave(host)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(census.most > 1)
    }
}
