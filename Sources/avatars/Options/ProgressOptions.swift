import ArgumentParser

/// `--progress`, for commands whose work may be long.
struct ProgressOptions: ParsableArguments {
    @Option(help: "How progress is shown: one line on a terminal, plain lines for a log, or none.")
    var progress = ProgressDisplay.Style.auto

    /// What shows it.
    func display(_ store: StoreOptions) -> ProgressDisplay {
        ProgressDisplay(progress, isQuiet: store.quiet, isLogging: store.verbose)
    }
}
