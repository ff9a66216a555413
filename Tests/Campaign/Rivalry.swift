import AvatarStore
import Foundation
import Testing
import Workload

/// Two processes at work on one store at once; one of them may be killed in the middle.
actor Rivalry {
    private let directory: String
    private let origin: String
    private let seed: UInt64
    private let thread = BlockingThread()
    private let book = ImageBook()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ directory: String, _ origin: String, seed: UInt64) {
        self.directory = directory
        self.origin = origin
        self.seed = seed
    }

    /// Errors that a process may meet because of the other. Any other error is a fault.
    private static let refusals: Set<AvatarStoreError.Code> = [.overBudget, .noSuchEntry, .syncIsRunning, .fetchFailed]

    func run(operations: Int, kills: Bool) async throws {
        let budget = 30_000
        let store = try await AvatarStore.open(directory: directory)
        try await store.set(.budget, to: Int64(budget))
        var random = RandomOperations(seed: seed)
        let scripts = (0..<2).map { script(of: $0, operations) }
        let killAfter = kills ? 20 + random.number(below: operations) : nil
        let findings = try await work(scripts, budget: budget, killAfter: killAfter)
        try await store.close()
        try require(findings, seed)
    }

    private func script(of process: Int, _ count: Int) -> [Command] {
        var random = RandomOperations(seed: seed &* 31 &+ UInt64(process), keepsDocuments: true)
        var commands: [Command] = []
        while commands.count < count {
            let operation = random.next()
            if case .setBudget = operation { continue }
            let number = 2 * commands.count + process
            commands.append(Command(number: number, tick: commands.count, operation))
        }
        return commands
    }

    private func work(_ scripts: [[Command]], budget: Int, killAfter: Int?) async throws -> [Finding] {
        let workers = try scripts.map { _ in try Worker(directory: directory, origin: origin) }
        for (worker, script) in zip(workers, scripts) {
            for command in script { try worker.tell(command.description) }
            try worker.tell("close")
        }
        let commands = Dictionary(uniqueKeysWithValues: scripts.joined().map { ($0.number, $0) })
        var calls: [Int: History.Call] = [:]
        var watch = BudgetWatch(directory + "/caches", budget: budget, [])
        var lineCount = 0
        while !workers.allSatisfy(\.isSilent) {
            let lines = watch.look { workers.flatMap { $0.lines(waiting: 1) } }
            lineCount += lines.count
            for line in lines { note(line, commands, &calls) }
            if let killAfter, lineCount >= killAfter { workers[1].kill() }
        }
        for worker in workers { try worker.waitForEnd() }
        var findings = watch.findings
        for (number, worker) in workers.enumerated() where worker.status != 0 && (killAfter == nil || number == 0) {
            findings.append(Finding(.wrong, "worker \(number) ended with status \(worker.status)"))
        }
        return findings + (try await judge(calls))
    }

    private func note(_ line: Worker.Line, _ commands: [Int: Command], _ calls: inout [Int: History.Call]) {
        switch line {
        case .begin(let number, let time):
            if let command = commands[number] { calls[number] = History.Call(command: command, begun: time) }
        case .end(let number, let time, let outcome):
            calls[number]?.ended = time
            calls[number]?.outcome = outcome
        case .open, .finished, .closed, .kept: break
        }
    }

    private func judge(_ calls: [Int: History.Call]) async throws -> [Finding] {
        var history = History(book)
        var findings: [Finding] = []
        for call in calls.values.sorted(by: { $0.begun < $1.begun }) {
            history.add(call)
            if case .refused(let refusal)? = call.outcome, !Self.refusals.contains(refusal.code) {
                findings.append(Finding(.wrong, "\(call.command) was refused: \(refusal)"))
            }
        }
        // An opening finishes the work of a killed process.
        let store = try await AvatarStore.open(directory: directory)
        let inspection = try StoreInspection(directory, book, isSettled: true)
        try await store.close()
        findings += inspection.findings
        findings += history.faults(StoreModel(inspection.index, book)).map { Finding(.wrong, $0) }
        return findings
    }
}
