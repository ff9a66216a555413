import Synchronization
import Testing

@testable import AvatarStore

@Suite(.timeLimit(.minutes(5)))
struct HandoverTests {
    private struct Failure: Error {}

    @Test func elementsArriveInOrderAndNoneRunsAhead() async throws {
        let handover = Handover<Int, any Error>()
        let sent = Atomic(0)
        let sender = Task {
            for number in 0..<1000 {
                await handover.send(number)
                sent.add(1, ordering: .relaxed)
            }
            handover.finish()
        }

        for number in 0..<1000 {
            #expect(sent.load(ordering: .relaxed) <= number)
            #expect(try await handover.next() == number)
        }
        #expect(try await handover.next() == nil)
        await sender.value
    }

    @Test func eachElementOfManySendersGoesToOneOfManyReaders() async throws {
        let handover = Handover<Int, any Error>()
        let received = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var numbers: [Int] = []
                    while let number = try await handover.next() { numbers.append(number) }
                    return numbers
                }
            }
            await withDiscardingTaskGroup { senders in
                for number in 0..<500 { senders.addTask { await handover.send(number) } }
            }
            handover.finish()
            return try await group.reduce(into: []) { $0 += $1 }
        }

        #expect(received.sorted() == Array(0..<500))
    }

    @Test func aCancelledSenderGoesOnAndItsElementIsGone() async throws {
        let handover = Handover<Int, any Error>()
        let sender = Task { await handover.send(1) }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await handover.send(2)
        }

        sender.cancel()
        await sender.value
        await early.value

        async let last: Void = handover.send(3)
        #expect(try await handover.next() == 3)
        await last
    }

    @Test func aCancelledReaderGetsNothingAndLosesNoElement() async throws {
        let handover = Handover<Int, any Error>()
        let reader = Task { try await handover.next() }
        reader.cancel()
        #expect(try await reader.value == nil)

        async let sent: Void = handover.send(1)
        #expect(try await handover.next() == 1)
        await sent
    }

    @Test func anErrorIsThrownOnceWhetherAReaderWaitsOrComesLater() async throws {
        let late = Handover<Int, any Error>()
        late.finish(throwing: Failure())
        late.finish()
        await #expect(throws: Failure.self) { try await late.next() }
        #expect(try await late.next() == nil)

        let early = Handover<Int, any Error>()
        let reader = Task { try await early.next() }
        // The reader waits, or comes later: it gets the error in both cases.
        await Task.yield()
        early.finish(throwing: Failure())
        await #expect(throws: Failure.self) { try await reader.value }
        #expect(try await early.next() == nil)
    }

    @Test func theEndLetsSendersGo() async throws {
        let handover = Handover<Int, any Error>()
        let sender = Task { await handover.send(1) }
        await Task.yield()
        handover.finish()
        await sender.value
        await handover.send(2)
        #expect(try await handover.next() == nil)
    }
}
