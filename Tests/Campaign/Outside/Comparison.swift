import Workload

/// Compares a store with its model after each operation, and advances the model.
struct Comparison {
    private(set) var model = StoreModel()
    private(set) var operations = 0
    private let directory: String
    private let book = ImageBook()

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
            // The order of uses within one tick is up to the store, and only an eviction shows it: both orders are right.
            let judged = [false, true].map { judge(command, by: process, came: outcome, found, tellsUsesApart: $0) }
            let right = judged.first { $0.faults.isEmpty } ?? judged[0]
            expected = right.expected
            findings += right.faults
        }
        if case .sync = command.operation {
            // The process used the image, and may have written its buffered uses; the next eviction shows it.
            expected.touches = model.touches
        }
        model = found.adopting(touches: expected)
        return findings.map { Finding($0.kind, "\($0.text) after \(command) by \(process)") }
    }

    /// The content that is expected after a call that is not a sync, and its contradictions to the content found.
    private func judge(
        _ command: Command,
        by process: Int,
        came outcome: Outcome,
        _ found: StoreModel,
        tellsUsesApart: Bool
    ) -> (expected: StoreModel, faults: [Finding]) {
        var model = model
        model.tellsUsesWithinTicksApart = tellsUsesApart
        let transition = Transition(model, command, by: process, book)
        var expected = transition.final
        // The store may have written its buffered uses in the middle of the call, after 30 seconds.
        expected.noteUses(writtenIn: found)
        var faults = expected.differences(from: found).map { Finding(.lost, $0) }
        if outcome != transition.outcome {
            faults.append(Finding(.wrong, "it came to \(outcome), not \(transition.outcome)"))
        }
        return (expected, faults)
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
