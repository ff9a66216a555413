import AvatarStore
import Testing
import Workload

/// Two processes on one store that work in turns, and a model of the content after each turn.
actor TurnTaking {
    private let directory: String
    private let origin: String
    private let seed: UInt64
    private let thread = BlockingThread()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ directory: String, _ origin: String, seed: UInt64) {
        self.directory = directory
        self.origin = origin
        self.seed = seed
    }

    func run(operations: Int) throws {
        var random = RandomOperations(seed: seed)
        var comparison = Comparison(directory)
        var number = 0
        while number < operations {
            // New processes now and then: uses buffered in memory are written after 30 seconds, and the model has to
            // know which process buffers which.
            let workers = try (0..<2).map { _ in try Worker(directory: directory, origin: origin) }
            for worker in workers { _ = worker.next { if case .open = $0 { true } else { false } } }
            for _ in 0..<min(200, operations - number) {
                number += 1
                let operation = number == 1 ? .setBudget(random.budget()) : random.next()
                let command = Command(number: number, tick: number, operation)
                let process = random.number(below: 2)
                let outcome = try outcome(of: command, workers[process])
                try require(try comparison.check(command, by: process, came: outcome), seed)
            }
            for (process, worker) in workers.enumerated() {
                try worker.tell("close")
                try worker.waitForEnd()
                try require(try comparison.checkClosed(by: process), seed)
            }
        }
    }

    private func outcome(of command: Command, _ worker: Worker) throws -> Outcome {
        try worker.tell(command.description)
        let line = worker.next { if case .end = $0 { true } else { false } }
        guard case .end(_, _, let outcome)? = line else { throw WorkerEnded(command: command) }
        return outcome
    }
}

/// A worker ended in the middle.
struct WorkerEnded: Error {
    let command: Command
}
