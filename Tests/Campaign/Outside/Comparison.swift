import Workload

/// Compares a store with its model after each operation, and advances the model.
struct Comparison {
    private(set) var model = StoreModel()
    private(set) var operations = 0
    private let directory: String
    private let book = PictureBook()

    init(_ directory: String) {
        self.directory = directory
    }

    /// The contradictions after the call for `command` has returned.
    ///
    /// - Parameter process: the process that made the call.
    mutating func check(_ command: Command, by process: Int, came outcome: Outcome) throws -> [Finding] {
        book.add(command.operation)
        operations += 1
        let inspection = try StoreInspection(directory, book, isSettled: true)
        let found = StoreModel(inspection.index, book)
        model.noteUses(writtenIn: found)
        var findings = inspection.findings
        var expected: StoreModel
        if case .sync = command.operation {
            let judgement = SyncJudgement(before: model, found: found, command, by: process, outcome: outcome)
            findings += judgement.faults.map { Finding(.wrong, $0) }
            expected = found
        } else {
            let transition = Transition(model, command, by: process, book)
            expected = transition.final
            // The store may have written its buffered uses in the middle of the call, after 30 seconds.
            expected.noteUses(writtenIn: found)
            if outcome != transition.outcome {
                findings.append(Finding(.wrong, "it came to \(outcome), not \(transition.outcome)"))
            }
            findings += expected.differences(from: found).map { Finding(.lost, $0) }
        }
        if case .sync = command.operation {
            // The process used the image, and may have written its buffered uses; the next eviction shows it.
            expected.touches = model.touches
        }
        model = found.adopting(touches: expected)
        return findings.map { Finding($0.kind, "\($0.text) after \(command) by \(process)") }
    }

    /// The contradictions after `process` has closed the store.
    mutating func checkClosed(by process: Int) throws -> [Finding] {
        let inspection = try StoreInspection(directory, book, isSettled: true)
        let found = StoreModel(inspection.index, book)
        let expected = Transition(closing: model, by: process, book).final
        model = found.adopting(touches: expected)
        return inspection.findings + expected.differences(from: found).map { Finding(.lost, "\($0) after closing") }
    }
}
