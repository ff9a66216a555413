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
