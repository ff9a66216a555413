import Testing

@testable import AvatarStore

@Suite(.timeLimit(.minutes(5)))
struct HostQueuesTests {
    @Test func hostsTakeTurns_andNoneGetsMoreThanItsShare() {
        var queues = HostQueues<String>(perHost: 2)
        for number in 0..<4 { queues.add("a\(number)", host: "a") }
        queues.add("b0", host: "b")

        #expect(queues.first == "a0")
        #expect([queues.next(), queues.next(), queues.next()] == ["a0", "b0", "a1"])
        #expect(queues.next() == nil)
        #expect(queues.activeCount == 3)

        queues.finish(host: "b")
        #expect(queues.next() == nil)
        queues.finish(host: "a")
        #expect(queues.next() == "a2")
        #expect(queues.waitingCount == 1)
    }

    @Test func waitingTargetsCanBeRemoved_activeOnesContinue() {
        var queues = HostQueues<String>(perHost: 1)
        for host in ["a", "b"] {
            queues.add(host + "0", host: host)
            queues.add(host + "1", host: host)
        }
        _ = queues.next()

        #expect(Set(queues.removeAll()) == ["a1", "b0", "b1"])
        #expect(queues.next() == nil)
        queues.finish(host: "a")
        #expect(queues.activeCount == 0)
        queues.add("a2", host: "a")
        #expect(queues.next() == "a2")
    }

    @Test func heldHostHasNoTurn_untilItIsReleased() {
        var queues = HostQueues<String>(perHost: 2)
        for host in ["a", "b"] {
            queues.add(host + "1", host: host)
            queues.addFirst(host + "0", host: host)
        }
        queues.hold("a")
        #expect(queues.readyCount == 2 && queues.wantsTurn("a"))
        #expect([queues.next(), queues.next(), queues.next()] == ["b0", "b1", nil])

        queues.release("a")
        queues.release("a")
        #expect([queues.next(), queues.next(), queues.next()] == ["a0", "a1", nil])
        #expect(!queues.wantsTurn("a") && queues.activeCount(of: "a") == 2)
    }

    @Test func everyTargetIsTakenOnce_whateverTheOrderOfEvents() {
        var generator = SystemRandomNumberGenerator()
        var queues = HostQueues<Int>(perHost: 3)
        var active: [(Int, String)] = []
        var taken: [Int] = []
        var added = 0
        while taken.count < 1000 {
            switch Int.random(in: 0..<3, using: &generator) {
            case 0 where added < 1000:
                queues.add(added, host: "h\(added % 7)")
                added += 1
            case 1:
                if let target = queues.next() {
                    taken.append(target)
                    active.append((target, "h\(target % 7)"))
                }
            default:
                if !active.isEmpty { queues.finish(host: active.removeFirst().1) }
            }
            let perHost = Dictionary(grouping: active, by: \.1).mapValues(\.count)
            #expect(perHost.values.allSatisfy { $0 <= 3 })
        }
        #expect(taken.sorted() == Array(0..<1000))
    }
}
