import AvatarCore
import AvatarFoundation
import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStore

/// The fetches of a table, with and without a task.
@Suite(.timeLimit(.minutes(5)))
struct FlightTableTests {
    private struct Failure: Error {}

    private let table = FlightTable<Int>()
    private let key = AvatarKey(stored: "https://example.org/a.png")

    @Test func beginningTakesThePlaceOfTheTask() async throws {
        for number in 1...2 {
            let value = try await table.join(key) {
                throw Failure()
            } begin: { done in
                done(.success(number))
                return {}
            }
            #expect(value == number)
        }
        #expect(table.waiterCount(of: key) == 0)
    }

    @Test func taskFetchesIfTheBeginningWouldHaveToWait() async throws {
        #expect(try await table.join(key, { 1 }, begin: { _ in nil }) == 1)
    }

    @Test func errorOfTheBeginningIsTheReaders() async throws {
        await #expect(throws: Failure.self) {
            try await table.join(key, { 1 }, begin: { _ in throw Failure() })
        }
        #expect(try await table.join(key) { 2 } == 2)
    }

    @Test @MainActor func beginningDoesNotHoldUpAnActor() async throws {
        let isOnMainThread = try await table.join(key) {
            throw Failure()
        } begin: { done in
            done(.success(Thread.isMainThread ? 1 : 0))
            return {}
        }

        #expect(isOnMainThread == 0)
    }

    /// Only the last of the readers cancels the fetch. The next fetch begins once it has ended.
    @Test func nextFetchWaitsForTheEndOfACancelledOne() async throws {
        let (steps, ending) = (Steps(), Ending())
        let readers = (0..<2).map { _ in
            Task { [table, key] in
                try await table.join(key) {
                    throw Failure()
                } begin: { done in
                    ending.set(done)
                    return { steps.add("cancelled") }
                }
            }
        }
        try await waitUntil { table.waiterCount(of: key) == 2 }

        readers[0].cancel()
        await #expect(throws: CancellationError.self) { try await readers[0].value }
        #expect(steps.all == [])
        readers[1].cancel()
        await #expect(throws: CancellationError.self) { try await readers[1].value }
        try await waitUntil { steps.all == ["cancelled"] }
        let next = Task { [table, key] in
            try await table.join(key) {
                steps.add("next")
                return 2
            } begin: { _ in
                steps.add("begun")
                return nil
            }
        }
        try await waitUntil { table.isWaitingForEnd(key) }
        #expect(steps.all == ["cancelled"])
        steps.add("ended")
        ending.end(with: .failure(CancellationError()))

        #expect(try await next.value == 2)
        #expect(steps.all == ["cancelled", "ended", "begun", "next"])
    }

    /// The table cannot cancel the fetch yet when its only reader leaves.
    @Test func readerThatLeavesMeanwhileCancelsTheFetch() async throws {
        let steps = Steps()
        let reader = Task { [table, key] in
            try await table.join(key) {
                throw Failure()
            } begin: { done in
                withUnsafeCurrentTask { $0?.cancel() }
                steps.add("begun")
                return {
                    steps.add("cancelled")
                    done(.failure(CancellationError()))
                }
            }
        }

        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(steps.all == ["begun", "cancelled"])
        #expect(try await table.join(key) { 2 } == 2)
    }

    @Test func cancelledReaderBeginsNothing() async throws {
        let reader = Task { [table, key] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await table.join(key) {
                try Task.checkCancellation()
                return 1
            } begin: { done in
                done(.success(2))
                return {}
            }
        }

        await #expect(throws: CancellationError.self) { try await reader.value }
    }
}

/// Steps in the order in which they were taken.
private final class Steps: Sendable {
    private let steps = Locked<[String]>([])

    var all: [String] { steps.withLock { $0 } }

    func add(_ step: String) { steps.withLock { $0.append(step) } }
}

/// The call that ends a fetch.
private final class Ending: Sendable {
    private let done = Locked<(@Sendable (Result<Int, any Error>) -> Void)?>(nil)

    func set(_ done: @escaping @Sendable (Result<Int, any Error>) -> Void) { self.done.withLock { $0 = done } }

    func end(with result: Result<Int, any Error>) {
        let done = done.withLock { $0 }
        done?(result)
    }
}
