import AvatarCore
import Testing

@testable import AvatarStore

/// The order of requests as a table: events and times in, requests out.
///
/// A target is named after its host and a number: `a1`.
@Suite(.timeLimit(.minutes(5)))
struct RequestSchedulerTests {
    /// A scheduler, and the requests of the sync that are under way.
    private struct Desk: ~Copyable {
        var scheduler: RequestScheduler<String>
        private var active: [String: HostTurn] = [:]

        init(total: Int = 256, perHost: Int? = nil, limits: [String: Int] = [:]) {
            scheduler = RequestScheduler(total: total, perHost: perHost)
            scheduler.beginSync(most: total, perHost: nil, limits: limits)
        }

        mutating func add(_ targets: String..., at place: RequestScheduler<String>.Place = .last) {
            for target in targets { scheduler.add(target, String(target.prefix(1)), at: place) }
        }

        mutating func fill(_ host: String, _ count: Int) {
            for number in 0..<count { scheduler.add("\(host)\(number)", host, at: .last) }
        }

        /// Begins at most `most` requests.
        mutating func begin(_ most: Int = .max, at now: Duration = .zero) -> [String] {
            var begun: [String] = []
            while begun.count < most, let target = scheduler.take(at: now) {
                begun.append(target)
                active[target] = scheduler.begin(String(target.prefix(1)), at: now)
            }
            return begun
        }

        enum Outcome {
            case answer, http2, trouble
            case refusal(Duration)
        }

        mutating func end(_ target: String, _ outcome: Outcome = .answer, at now: Duration = .zero) throws {
            let host = String(target.prefix(1))
            let turn = try #require(active[target])
            active[target] = nil
            scheduler.syncEnded(host)
            let time = now - turn.began
            switch outcome {
            case .answer: scheduler.answered(turn, took: time, isMultiplexed: false, at: now)
            case .http2: scheduler.answered(turn, took: time, isMultiplexed: true, at: now)
            case .trouble: scheduler.failed(turn, at: now)
            case .refusal(let wait):
                _ = scheduler.refused(turn, retryAfter: wait, longest: .seconds(60), at: now)
            }
        }

        mutating func endAll(_ outcome: Outcome = .answer, at now: Duration = .zero) throws {
            for target in active.keys.sorted() { try end(target, outcome, at: now) }
        }
    }

    // MARK: Turns

    @Test func hostsTakeTurns_andNoneGetsMoreThanItsShare() throws {
        var desk = Desk(perHost: 2)
        desk.add("a0", "a1", "a2", "a3", "b0")

        #expect(desk.begin() == ["a0", "b0", "a1"])
        #expect(desk.scheduler.syncActiveCount == 3 && desk.scheduler.waitingCount == 2)
        try desk.end("b0")
        #expect(desk.begin() == [])
        try desk.end("a0")
        #expect(desk.begin() == ["a2"])
    }

    @Test func theTotalHoldsBackAllHosts() throws {
        var desk = Desk(total: 3, perHost: 2)
        for host in ["a", "b", "c"] { desk.fill(host, 2) }

        #expect(desk.begin() == ["a0", "b0", "c0"])
        #expect(desk.scheduler.readyCount == 3)
        try desk.end("b0")
        #expect(desk.begin() == ["a1"])
    }

    @Test func waitingTargetsCanBeRemoved_activeOnesGoOn() throws {
        var desk = Desk(perHost: 1)
        desk.add("a0", "a1", "b0", "b1")
        #expect(desk.begin(1) == ["a0"])

        #expect(Set(desk.scheduler.removeAll()) == ["a1", "b0", "b1"])
        #expect(desk.begin() == [] && desk.scheduler.waitingCount == 0)
        try desk.end("a0")
        #expect(desk.scheduler.activeCount == 0)
        desk.add("a2")
        #expect(desk.begin() == ["a2"])
    }

    @Test func placeOfATargetWithoutARequestIsFreeAgain() {
        var desk = Desk(perHost: 1)
        desk.add("a0", "a1")
        #expect(desk.scheduler.take(at: .zero) == "a0")
        desk.scheduler.giveBack("a0", "a")
        #expect(desk.scheduler.take(at: .zero) == "a0")
        desk.scheduler.syncEnded("a")
        #expect(desk.begin() == ["a1"] && desk.scheduler.activeCount == 1 && desk.scheduler.waitingCount == 0)
    }

    // MARK: Readers

    @Test func readerOvertakesASyncOf100_000() throws {
        var desk = Desk(total: 4, perHost: 4)
        desk.fill("a", 100_000)
        #expect(desk.begin().count == 4)
        let key = try AvatarKey(url: "https://a.example/face")
        let number = desk.scheduler.nextNumber()
        desk.scheduler.ask(number, "a", for: key, .normal, isProbe: false)
        #expect(desk.scheduler.nextReader(at: .zero) == nil)

        try desk.end("a2")

        let next = desk.scheduler.nextReader(at: .zero)
        let reader = try #require(next)
        #expect(reader.number == number)
        #expect(desk.begin() == [])
        desk.scheduler.readerEnded(reader.turn)
        #expect(desk.begin() == ["a4"])
    }

    @Test func wishOfAReaderChangesItsPlace() throws {
        var scheduler = RequestScheduler<String>(total: 1, perHost: 1)
        let keys = try ["x", "y", "z"].map { try AvatarKey(url: "https://a.example/\($0)") }
        let numbers = keys.map { key in
            let number = scheduler.nextNumber()
            scheduler.ask(number, "a", for: key, .normal, isProbe: false)
            return number
        }
        scheduler.wish(99, for: keys[2], .high)
        scheduler.wish(98, for: keys[0], .background)
        scheduler.wish(98, for: keys[0], nil)

        var order: [Int] = []
        while let (number, turn) = scheduler.nextReader(at: .zero) {
            order.append(number)
            scheduler.readerEnded(turn)
        }
        // A wish that was withdrawn leaves the place that it gave.
        #expect(order == [numbers[2], numbers[1], numbers[0]])
        #expect(scheduler.activeCount == 0 && scheduler.readerCount == 0)
    }

    @Test func cancelledReaderLeavesNoTrace() throws {
        var scheduler = RequestScheduler<String>(total: 1, perHost: 1)
        let key = try AvatarKey(url: "https://a.example/face")
        scheduler.ask(1, "a", for: key, .normal, isProbe: false)
        #expect(scheduler.cancel(1) && !scheduler.cancel(1))
        #expect(scheduler.nextReader(at: .zero) == nil)
        #expect(scheduler.activeCount == 0 && scheduler.readerCount == 0)
    }

    /// A host that failed before has answered the sync: a reader needs no probe any more.
    @Test func probeBeginsOnceTheHostHasAnswered() throws {
        var desk = Desk()
        desk.fill("a", 1000)
        #expect(desk.begin().count == 6)
        let key = try AvatarKey(url: "https://a.example/face")
        desk.scheduler.ask(1, "a", for: key, .normal, isProbe: true)
        let early = desk.scheduler.nextReader(at: .zero)
        #expect(early == nil)

        try desk.end("a0")

        let reader = desk.scheduler.nextReader(at: .zero)
        #expect(reader?.number == 1)
    }

    // MARK: Windows

    /// The requests at a time, round trip after round trip.
    private func windows(_ outcome: Desk.Outcome, rounds: Int, perHost: Int? = nil) throws -> [Int] {
        var desk = Desk(perHost: perHost)
        desk.fill("a", 2000)
        return try (1...rounds).map { round in
            let begun = desk.begin(at: .milliseconds(50 * (round - 1)))
            try desk.endAll(outcome, at: .milliseconds(50 * round))
            return begun.count
        }
    }

    @Test func windowDoublesUpToTheCeilingOfItsProtocol() throws {
        #expect(try windows(.answer, rounds: 4) == [6, 12, 16, 16])
        let multiplexed = try windows(.http2, rounds: 5)
        #expect(multiplexed == [6, 38, 76, 100, 100], "\(multiplexed)")
        #expect(try windows(.answer, rounds: 5, perHost: 30) == [6, 12, 24, 30, 30])
        #expect(try windows(.http2, rounds: 3, perHost: 2) == [2, 2, 2])
    }

    /// Answers that take longer with each request more are no reason for more of them.
    @Test func windowThatOnlyMakesAnswersSlowerStaysSmall() throws {
        var desk = Desk()
        desk.fill("a", 2000)
        var (now, counts) = (Duration.zero, [Int]())
        for _ in 0..<20 {
            let begun = desk.begin(at: now)
            now += .milliseconds(30 * begun.count)
            try desk.endAll(.http2, at: now)
            counts.append(begun.count)
        }
        #expect(counts.max() ?? 0 < 80, "\(counts)")
    }

    @Test func troubleHalvesTheWindow_once() throws {
        var desk = Desk()
        desk.fill("a", 2000)
        _ = desk.begin()
        try desk.endAll()
        #expect(desk.begin().count == 12)
        try desk.endAll(.trouble)
        #expect(desk.begin().count == 6)
        try desk.endAll(at: .milliseconds(10))
        // An eighth more per round trip from now on.
        #expect(desk.begin(at: .milliseconds(10)).count == 7)
    }

    /// The last request of a sync often is the one that ends in a time-out. The window is that of the time when it was sent.
    @Test func lateTroubleHalvesTheWindowOfItsTime() throws {
        var desk = Desk()
        desk.fill("a", 100)
        for _ in 0..<3 {
            _ = desk.begin()
            try desk.endAll()
        }
        let begun = desk.begin(at: .seconds(1))
        #expect(begun.count == 16)
        for target in begun.dropLast() { try desk.end(target, at: .seconds(1)) }
        try desk.end(begun[15], .trouble, at: .seconds(31))
        #expect(desk.begin(at: .seconds(31)).count == 8)
    }

    @Test func refusalHalvesTheWindow_andTheHostIsWaitedFor() throws {
        var desk = Desk()
        desk.fill("a", 100)
        desk.fill("b", 1)
        #expect(desk.begin().count == 7)
        try desk.end("a0", at: .milliseconds(10))
        try desk.end("a1", .refusal(.seconds(2)), at: .milliseconds(10))

        #expect(desk.begin(at: .milliseconds(20)) == [])
        for target in ["a2", "a3", "a4", "a5"] { try desk.end(target, at: .milliseconds(20)) }
        #expect(desk.begin(at: .milliseconds(20)) == [])
        #expect(desk.scheduler.alarm.map { Int(($0 / .milliseconds(1)).rounded()) } == 2010)

        desk.scheduler.release(at: .milliseconds(2010))
        #expect(desk.begin(at: .milliseconds(2010)) == ["a6"])
        #expect(desk.scheduler.alarm != nil)
        desk.scheduler.stopPacing()
        #expect(desk.begin(at: .milliseconds(2011)).count == 1)
        #expect(desk.scheduler.alarm == nil)
    }

    @Test func hostOnProbationGetsOneRequest() throws {
        var desk = Desk()
        desk.scheduler.setProbation(true, of: "a")
        desk.fill("a", 10)
        #expect(desk.begin() == ["a0"])
        try desk.end("a0")
        desk.scheduler.setProbation(false, of: "a")
        #expect(desk.begin().count > 1)
    }

    @Test func fixedLimitIsNoWindow() throws {
        var desk = Desk(limits: ["t": 24])
        desk.fill("t", 100)
        #expect(desk.begin().count == 24)
    }

    /// The next sync begins with the window of the last one, and without its refusals.
    @Test func windowIsKeptForTheNextSync() throws {
        var desk = Desk()
        desk.fill("a", 100)
        for _ in 0..<3 {
            _ = desk.begin()
            try desk.endAll()
        }
        _ = desk.scheduler.removeAll()
        desk.scheduler.beginSync(most: 256, perHost: nil)
        desk.fill("a", 100)
        #expect(desk.begin().count == 16)
    }

    /// What hosts bore for an earlier process holds too. A small window was halved, and does not double.
    @Test func windowOfAnEarlierProcessHolds() throws {
        var desk = Desk()
        let windows = [
            "a": HostWindow(count: 2, isMultiplexed: false), "b": HostWindow(count: 80, isMultiplexed: true),
            "c": HostWindow(count: 10, isMultiplexed: true),
        ]
        desk.scheduler.beginSync(most: 256, perHost: nil, windows: windows)
        for host in ["a", "b", "c"] { desk.fill(host, 1000) }
        let counts = Dictionary(grouping: desk.begin()) { $0.prefix(1) }.mapValues(\.count)
        #expect(counts == ["a": 2, "b": 80, "c": 10])
        for target in ["a0", "a1"] { try desk.end(target) }
        try desk.endAll(.http2)
        let next = Dictionary(grouping: desk.begin()) { $0.prefix(1) }.mapValues(\.count)
        #expect(next == ["a": 3, "b": 100, "c": 11])

        let uses = desk.scheduler.uses(most: 1)
        #expect(uses.map(\.host) == ["b"])
        #expect(uses.first?.window == HostWindow(count: 100, isMultiplexed: true))
        #expect(uses.first.map { [$0.requests, $0.mostAtOnce] } == [180, 100])
    }

    /// The limit of a sync is not one of readers, and leaves the host's window as it is.
    @Test func limitOfASyncIsItsOwn() throws {
        var desk = Desk()
        desk.scheduler.beginSync(most: 256, perHost: 1)
        desk.fill("a", 10)
        #expect(desk.begin() == ["a0"])
        let key = try AvatarKey(url: "https://a.example/face")
        for number in 1...2 { desk.scheduler.ask(number, "a", for: key, .normal, isProbe: false) }
        let readers = [desk.scheduler.nextReader(at: .zero), desk.scheduler.nextReader(at: .zero)]
        #expect(readers.map { $0?.number } == [1, 2])
        try desk.end("a0")
        #expect(desk.begin() == ["a1"])
    }

    /// A request without an answer does not hide a refusal of the same moment.
    @Test func refusalAfterALostConnectionIsWaitedFor() throws {
        var desk = Desk()
        desk.fill("a", 100)
        #expect(desk.begin(at: .seconds(1)).count == 6)
        try desk.end("a0", .trouble, at: .seconds(2))
        for target in ["a1", "a2", "a3", "a4", "a5"] { try desk.end(target, .refusal(.seconds(30)), at: .seconds(2)) }
        #expect(desk.begin(at: .seconds(3)) == [])
        #expect(desk.scheduler.alarm == .seconds(32))
    }

    // MARK: Anything

    @Test func hangingHostDelaysOnlyItself() throws {
        var desk = Desk(total: 20)
        desk.fill("h", 1000)
        desk.fill("a", 100)
        var answered = 0
        for _ in 0..<200 {
            for target in desk.begin() where target.hasPrefix("a") {
                try desk.end(target)
                answered += 1
            }
        }
        #expect(answered == 100)
    }

    @Test func everyTargetIsTakenOnce_whateverTheOrderOfEvents() throws {
        var random = SystemRandomNumberGenerator()
        var desk = Desk(total: 9, perHost: 3)
        var (active, taken, added): ([String], [String], Int) = ([], [], 0)
        while taken.count < 1000 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where added < 1000:
                desk.add("\("abcdefg"[added % 7])\(added)")
                added += 1
            case 1:
                let begun = desk.begin(1)
                active += begun
                taken += begun
            default:
                if let target = active.popLast() { try desk.end(target) }
            }
            let perHost = Dictionary(grouping: active) { $0.prefix(1) }.mapValues(\.count)
            #expect(perHost.values.allSatisfy { $0 <= 3 } && active.count <= 9)
        }
        #expect(Set(taken).count == 1000)
        for target in active { try desk.end(target) }
        #expect(desk.scheduler.activeCount == 0 && desk.scheduler.waitingCount == 0)
    }
}

extension String {
    fileprivate subscript(_ place: Int) -> Character { self[index(startIndex, offsetBy: place)] }
}
