import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing
import Workload

/// Rounds in which a process works on a store and is killed, and this process opens the store again and inspects it.
///
/// Each store goes through a series of rounds, so that the next round meets what a kill left behind. The seed
/// determines a series, except for the exact moment of a kill from outside.
actor Campaign {
    struct Tally {
        var kills = 0
        var operations = 0
        var looks = 0
        var findings: [Finding.Kind: Int] = [:]
    }

    private(set) var tally = Tally()
    private let origin: LoopbackOrigin
    private let book = ImageBook()
    private let thread = BlockingThread()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ origin: LoopbackOrigin) {
        self.origin = origin
    }

    /// Runs one series on a new store, and stops at the first round with a finding.
    func runSeries(seed: UInt64, rounds: Int) async throws {
        let directory = NSTemporaryDirectory() + "avatar-campaign-" + UUID().uuidString
        defer { removeFolder(directory) }
        var series = Series(directory: directory, seed: seed)
        for round in 0..<rounds {
            let findings = try await run(round, &series)
            for finding in findings { tally.findings[finding.kind, default: 0] += 1 }
            guard findings.isEmpty else {
                let text = findings.map(\.description).joined(separator: "\n  ")
                Issue.record("Round \(round) of seed \(seed) (\(series.description)):\n  \(text)")
                return
            }
        }
    }

    private func run(_ number: Int, _ series: inout Series) async throws -> [Finding] {
        let script = series.nextScript(isFirst: number == 0)
        script.commands.forEach { book.add($0.operation) }
        let bystander = script.hasBystander && number > 0 ? try await open(series.directory) : nil
        let round = try Round(
            script.commands,
            in: series.directory,
            origin: origin.url(""),
            script.kill,
            closes: script.closes,
            budget: series.model.budget
        )
        tally.kills += round.wasKilled ? 1 : 0
        tally.operations += round.outcomes.count
        tally.looks += round.looks
        var findings = round.findings
        if number > 0 || round.isOpen {
            findings += try StoreInspection(series.directory, book, isSettled: false).findings
        }
        // A live process finishes the work of the dead, as an opening does.
        let store: AvatarStore
        if let bystander {
            store = bystander
            try await store.trim(to: .max)
        } else {
            store = try await open(series.directory)
        }
        var inspection = try StoreInspection(series.directory, book, isSettled: true)
        inspection.checkLeftovers(liveHolders: 1)
        try await store.close()
        findings += inspection.findings
        findings += judge(&series.model, script, round, inspection)
        return findings
    }

    private func open(_ directory: String) async throws -> AvatarStore {
        try await AvatarStore.open(directory: directory)
    }

    /// Compares with what must exist and what may exist, and goes on from what does.
    ///
    /// The order of uses within one tick is up to the store, and only the end of the round shows it: a file that inherits
    /// such a time is evicted before another one, or after it. So both orders are right.
    private func judge(
        _ model: inout StoreModel,
        _ script: Series.Script,
        _ round: Round,
        _ inspection: StoreInspection
    ) -> [Finding] {
        let found = StoreModel(inspection.index, book)
        defer { model = found }
        let findings = findings(model, script, round, found)
        guard !findings.isEmpty else { return [] }
        var other = model
        other.tellsUsesWithinTicksApart = true
        return self.findings(other, script, round, found).isEmpty ? [] : findings
    }

    private func findings(
        _ model: StoreModel,
        _ script: Series.Script,
        _ round: Round,
        _ found: StoreModel
    ) -> [Finding] {
        var findings: [Finding] = []
        var possible = [model]
        for command in script.commands where round.begun.contains(command.number) {
            let outcome = round.outcomes[command.number]
            if case .sync = command.operation {
                // A sync is the last command of its script.
                let before = possible[possible.count - 1]
                let judgement = SyncJudgement(before: before, found: found, command, by: 0, outcome: outcome)
                findings += judgement.faults.map { Finding(.wrong, "\($0) after \(command)") }
                possible = []
                continue
            }
            let transition = Transition(possible[possible.count - 1], command, by: 0, book)
            possible = outcome == nil ? transition.states : [transition.final]
            if let outcome, outcome != transition.outcome {
                findings.append(Finding(.wrong, "\(command) came to \(outcome), not \(transition.outcome)"))
            }
        }
        if script.closes, round.outcomes.count == script.commands.count, let last = possible.last {
            let closing = Transition(closing: last, by: 0, book)
            possible = round.isClosed ? [closing.final] : closing.states
        }
        let differences = possible.map { $0.differences(from: found) }
        if let best = differences.min(by: { $0.count < $1.count }), !best.isEmpty {
            let doubt = script.commands.last { round.begun.contains($0.number) && round.outcomes[$0.number] == nil }
            findings += best.map { Finding(.lost, $0) }
            findings.append(Finding(.lost, "in flight was \(doubt?.description ?? "nothing")"))
        }
        return findings
    }
}

/// A store on its way through a series, and the random numbers that decide it.
struct Series {
    /// The plan of one round.
    struct Script {
        var commands: [Command]
        var kill: Kill
        /// Whether the worker is told to close the store at the end.
        var closes: Bool
        /// Whether this process has the store open all the time, and finishes the worker's work.
        var hasBystander: Bool
    }

    let directory: String
    var model = StoreModel()
    private var random: RandomOperations
    private var tick = 0
    private var number = 0
    private var kill: Kill?

    init(directory: String, seed: UInt64) {
        self.directory = directory
        random = RandomOperations(seed: seed)
    }

    var description: String { "killed \(kill?.description ?? "never")" }

    mutating func nextScript(isFirst: Bool) -> Script {
        var operations: [StoreOperation] = isFirst ? [.setBudget(random.budget())] : []
        for _ in 0..<5 + random.number(below: 35) { operations.append(random.next(allowsSync: false)) }
        if random.chance(35) {
            // Often early: in a long script the kill comes first.
            if random.chance(60) { operations.removeLast(operations.count / 2) }
            operations.append(random.sync())
        }
        let commands = operations.map { operation in
            tick += 1
            number += 1
            return Command(number: number, tick: tick, operation)
        }
        let kill = Kill(&random)
        self.kill = kill
        return Script(commands: commands, kill: kill, closes: random.chance(15), hasBystander: random.chance(20))
    }
}
