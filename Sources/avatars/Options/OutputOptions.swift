import ArgumentParser

/// `--progress`, for commands whose work may be long.
struct ProgressOptions: ParsableArguments {
    @Option(help: "How progress is shown: one line on a terminal, plain lines for a log, or none.")
    var progress = ProgressDisplay.Style.auto

    /// What shows it.
    ///
    /// - Parameter timeLimit: when the work ends at the latest, in seconds.
    func display(_ store: StoreOptions, timeLimit: Double? = nil) -> ProgressDisplay {
        ProgressDisplay(progress, isQuiet: store.quiet, isLogging: store.verbose, timeLimit: timeLimit)
    }
}

/// `--json`, for the commands that print data.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON instead of text for people.")
    var json = false

    /// Prints what a command did: `fields` with `--json`, else `text`.
    ///
    /// - Parameter isData: whether the command was asked for it, as a dry run is, or it names faults. Else it is a summary,
    ///   which `--quiet` keeps back.
    func print(_ fields: JSON, _ text: String, _ store: StoreOptions, isData: Bool = false) throws {
        if json {
            try fields.print()
        } else if isData || !store.quiet {
            try Console.output.write(text)
        }
    }
}
