/// Does `work` for each of `inputs`, some at once, and hands the results to `each` in the order of the inputs.
func inOrder<Input: Sendable, Output: Sendable>(
    _ inputs: [Input],
    atOnce limit: Int,
    _ work: @escaping @Sendable (Input) async throws -> Output,
    each: (Output) throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var started = 0
        var handedOut = 0
        var early: [Int: Output] = [:]
        while handedOut < inputs.count {
            while started < inputs.count, started - handedOut < limit {
                let number = started
                group.addTask { (number, try await work(inputs[number])) }
                started += 1
            }
            guard let (number, output) = try await group.next() else { return }
            early[number] = output
            while let next = early.removeValue(forKey: handedOut) {
                try each(next)
                handedOut += 1
            }
        }
    }
}
