import AvatarCore
import AvatarOriginRules
import AvatarStoreTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct NameLookupTests {
    /// A resolver that leaves names without an answer until it is told.
    private final class Gate: Sendable {
        private let condition = NSCondition()
        private let state = Mutex((isOpen: false, asked: [String](), running: 0, mostRunning: 0))

        var asked: [String] { state.withLock { $0.asked } }
        var mostRunning: Int { state.withLock { $0.mostRunning } }

        func open() {
            condition.withLock {
                state.withLock { $0.isOpen = true }
                condition.broadcast()
            }
        }

        func lookup(waitingFor waits: @escaping @Sendable (String) -> Bool, hasRoute: Bool = true) -> NameLookup {
            NameLookup(
                NameLookup.Resolver(
                    ask: { name in
                        self.state.withLock { state in
                            state.asked.append(name)
                            state.running += 1
                            state.mostRunning = max(state.mostRunning, state.running)
                        }
                        if waits(name) { self.wait() }
                        self.state.withLock { $0.running -= 1 }
                        return name.hasPrefix("dead") ? .noAnswer : .addresses("192.0.2.1")
                    },
                    hasRoute: { hasRoute }
                )
            )
        }

        private func wait() {
            condition.withLock {
                while !state.withLock({ $0.isOpen }) { condition.wait() }
            }
        }
    }

    @Test func nameIsAskedForOnce_howeverManyWantIt() async throws {
        let gate = Gate()
        let names = gate.lookup(waitingFor: { _ in true })
        try await withThrowingTaskGroup(of: NameLookup.Answer.self) { group in
            for _ in 0..<50 { group.addTask { try await names.answer(for: "a.example") } }
            try await waitUntil { !gate.asked.isEmpty }
            gate.open()
            for try await answer in group { #expect(answer == .addresses("192.0.2.1")) }
        }
        #expect(try await names.answer(for: "a.example") == .addresses("192.0.2.1"))
        #expect(gate.asked == ["a.example"])
    }

    @Test func nameWithoutAnAnswerHoldsUpNoOther() async throws {
        let gate = Gate()
        let names = gate.lookup(waitingFor: { $0.hasPrefix("dead") })
        let dead = Task { try await names.answer(for: "dead.example") }
        for number in 0..<20 {
            #expect(try await names.answer(for: "\(number).example") == .addresses("192.0.2.1"))
        }
        gate.open()
        #expect(try await dead.value == .noAnswer)
    }

    @Test func cancelledCallerLeavesAtOnce() async throws {
        let gate = Gate()
        let names = gate.lookup(waitingFor: { _ in true })
        let other = Task { try await names.answer(for: "dead.example") }
        for wait in [true, false] {
            let caller = Task { try await names.answer(for: "dead.example") }
            if wait { try await waitUntil { !gate.asked.isEmpty } }
            caller.cancel()
            await #expect(throws: CancellationError.self) { try await caller.value }
        }
        gate.open()
        #expect(try await other.value == .noAnswer)
    }

    @Test func threadsAreBounded_andEveryNameIsAnswered() async throws {
        let gate = Gate()
        let names = gate.lookup(waitingFor: { _ in true })
        try await withThrowingTaskGroup(of: NameLookup.Answer.self) { group in
            for number in 0..<200 { group.addTask { try await names.answer(for: "\(number).example") } }
            try await waitUntil { gate.asked.count >= 64 }
            gate.open()
            for try await answer in group { #expect(answer == .addresses("192.0.2.1")) }
        }
        #expect(gate.asked.count == 200)
        #expect(gate.mostRunning == 64)
    }

    // MARK: No network

    @Test func withoutARouteThereIsNoNetwork() async throws {
        let names = Gate().lookup(waitingFor: { _ in false }, hasRoute: false)
        #expect(try await names.answer(for: "dead.example") == .noAnswer)
        // A cache within the machine may know other names.
        #expect(try await names.answer(for: "a.example") == .addresses("192.0.2.1"))
        #expect(try await names.isOffline())
    }

    @Test func responseForAnotherNameMeansOnline() async throws {
        let names = Gate().lookup(waitingFor: { _ in false })
        _ = try await names.answer(for: "a.example")
        _ = try await names.answer(for: "dead.example")
        #expect(try await !names.isOffline())
    }

    @Test func laterResponseForAnotherNameMeansOnline() async throws {
        let names = Gate().lookup(waitingFor: { _ in false })
        _ = try await names.answer(for: "dead.example")
        async let isOffline = names.isOffline()
        _ = try await names.answer(for: "a.example")
        #expect(try await !isOffline)
    }

    @Test func resolverWithoutAnyResponseMeansOffline() async throws {
        let names = Gate().lookup(waitingFor: { _ in false })
        _ = try await names.answer(for: "dead1.example")
        _ = try await names.answer(for: "dead2.example")
        _ = try await names.answer(for: "localhost")
        #expect(try await names.isOffline())
    }

    // MARK: The system's resolver

    @Test func systemKnowsThisMachine() {
        #expect(NameLookup.Resolver.system.ask("127.0.0.1") == .addresses("127.0.0.1"))
        #expect(NameLookup.Resolver.system.ask("2130706433") == .addresses("127.0.0.1"))
        #expect(NameLookup.Resolver.system.ask("::1") == .addresses("::1"))
        guard case .addresses(let addresses) = NameLookup.Resolver.system.ask("localhost") else {
            Issue.record("localhost has no address")
            return
        }
        #expect(addresses.contains { ["127.0.0.1", "::1"].contains($0.description) })
    }

    /// RFC 6761 section 6.4. Without a network there is no response.
    @Test func systemKnowsThatANameDoesNotExist() {
        let answer = NameLookup.Resolver.system.ask("pictures.invalid")
        #expect(answer == .noSuchName || answer == .noAnswer)
        #expect(NameLookup.Resolver.system.ask("pictures..example") != .noAnswer)
    }
}
