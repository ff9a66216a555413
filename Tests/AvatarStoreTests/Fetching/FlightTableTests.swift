import AvatarCore
import AvatarFoundation
import AvatarStoreTesting
import Dispatch
import Testing

@testable import AvatarStore

/// A fetch runs on the thread of its first reader until it waits.
@Suite(.timeLimit(.minutes(1)))
struct FlightTableTests {
    private let key = AvatarKey(stored: "https://example.org/a.png")

    @Test func fetchThatEndsAtOnceIsForgotten() async throws {
        let table = FlightTable<Int>()
        for number in 1...2 {
            let value = try await table.join(key) { number }
            #expect(value == number)
            #expect(table.waiterCount(of: key) == 0)
        }
    }

    /// The table does not know the task of the fetch yet when its only reader leaves.
    @Test func readerThatLeavesWhileTheFetchBeginsEndsIt() async throws {
        let table = FlightTable<Int>()
        let (hasBegun, mayGoOn) = (Switch(), Switch())
        let isCancelled = Switch()
        let reader = Task.detached { [key] in
            try await table.join(key) {
                hasBegun.set()
                mayGoOn.block()
                do {
                    try await Deadlines.shared.sleep(for: .seconds(50))
                } catch {
                    isCancelled.set()
                    throw error
                }
                return 1
            }
        }
        try await waitUntil { hasBegun.isSet }
        reader.cancel()
        mayGoOn.set()

        await #expect(throws: CancellationError.self) { try await reader.value }
        try await waitUntil { isCancelled.isSet }
        #expect(try await table.join(key) { 2 } == 2)
    }

    @Test func fetchGoesOnWhereTheTableSays() async throws {
        let queue = DispatchQueue(label: "FlightTableTests")
        let table = FlightTable<Bool>(on: QueueExecutor(queue))

        let isOnQueue = try await table.join(key) {
            try await Deadlines.shared.sleep(for: .milliseconds(1))
            return QueueExecutor.isCurrent(queue)
        }

        #expect(isOnQueue)
    }
}

/// A condition that once set stays so.
private final class Switch: Sendable {
    private let state = Locked(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }

    /// Blocks the thread until it is set.
    func block() {
        while !isSet { usleep(1_000) }
    }
}

private final class QueueExecutor: TaskExecutor {
    private static let name = DispatchSpecificKey<ObjectIdentifier>()
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) {
        self.queue = queue
        queue.setSpecific(key: Self.name, value: ObjectIdentifier(queue))
    }

    static func isCurrent(_ queue: DispatchQueue) -> Bool {
        DispatchQueue.getSpecific(key: name) == ObjectIdentifier(queue)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
