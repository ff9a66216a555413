import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars doctor`: checks a store and its surroundings.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the store, its disk, the clock, hosts that fail, names, the proxy and certificates.",
        usage: "avatars doctor [<options>]",
        discussion: """
            Prints a line per check, and a remedy where there is one. It changes nothing. It sends one request to each of at \
            most five hosts that failed at their last request, unless they asked for a pause, and looks up the names of at \
            most three hosts of stored images. Use the network options of your syncs, because they change the result. Exit code 1 \
            if there is a problem, 2 if the store cannot be opened; warnings alone are exit code 0.

            Example: avatars doctor --allow-private-network
            """
    )

    @OptionGroup(title: "Network") var origin: OriginOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Prints the findings.
    ///
    /// - Throws: `ExitCode.couldNotRun` if the store cannot be opened; `ExitCode.someFailed` if there is another problem.
    func run() async throws {
        var configuration = store.configuration(.readOnly)
        try await origin.apply(to: &configuration)
        let findings = await AvatarStore.diagnose(configuration)
        let shown = store.quiet ? findings.filter { $0.outcome != .good } : findings
        if output.json {
            try JSON.object(["checks": .array(findings.map(\.json))]).print()
        } else {
            var table = Diagnosis.table
            table.fit(shown.map(\.row))
            try Console.output.write(shown.map { table.line($0.row) + $0.adviceLine }.joined())
        }
        let problems = findings.filter { $0.outcome == .problem }
        if problems.contains(where: { $0.subject == "store" }) { throw ExitCode.couldNotRun }
        if !problems.isEmpty { throw ExitCode.someFailed }
    }
}

extension Diagnosis {
    /// The columns of the output.
    static let table = Table(.left("CHECK", 8), .left("RESULT", 8), .left("FINDING"))

    /// The cells of the finding.
    var row: [Table.Cell] {
        let colour: Colour =
            switch outcome {
            case .good: .green
            case .warning: .magenta
            case .problem: .red
            }
        return [Table.Cell(subject), Table.Cell(outcome.rawValue, colour), Table.Cell(finding)]
    }

    /// The remedy on a line of its own, indented; empty without one.
    fileprivate var adviceLine: TerminalText { advice.map { "    \($0)\n" } ?? "" }

    /// The fields of `checks`.
    fileprivate var json: JSON {
        .object([
            "subject": JSON(subject), "outcome": JSON(outcome.rawValue), "finding": JSON(finding),
            "advice": JSON(advice),
        ])
    }
}
