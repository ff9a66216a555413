import ProgramRunning
import Workload

/// Polls the caches directory from outside while a worker changes the budget.
///
/// The worker's output tells which budget is in force: a lower one from the return of its call, a higher one from the
/// start of its call. The output is read after each look, so every budget that the look met was announced by then.
struct BudgetWatch {
    private let root: String
    /// Budgets that may be in force: that of the last call that returned, and those of calls that have begun since.
    private var budgets: [Int]
    private var begun: [Int: Int] = [:]
    private(set) var looks = 0
    private(set) var findings: [Finding] = []

    init(_ root: String, budget: Int, _ script: [Command]) {
        self.root = root
        budgets = [budget]
        for command in script {
            if case .setBudget(let bytes) = command.operation { begun[command.number] = bytes }
        }
    }

    /// Looks once, reads the output since, and compares.
    mutating func look(thenReading read: () -> [Worker.Line]) -> [Worker.Line] {
        let walk = FolderWalk(agreed: root)
        let lines = read()
        var ended: Int?
        for line in lines {
            switch line {
            case .begin(let number, _): if let bytes = begun[number] { budgets.append(bytes) }
            case .end(let number, _, _): if begun[number] != nil { ended = budgets.count - 1 }
            case .open, .finished, .closed, .kept: break
            }
        }
        if let walk, let limit = budgets.max() {
            looks += 1
            if walk.bytes > limit {
                findings.append(Finding(.breach, "\(walk.bytes) bytes in caches were seen, the budget is \(limit)"))
            }
        }
        if let ended { budgets.removeFirst(ended) }
        return lines
    }
}
