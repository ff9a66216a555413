import ArgumentParser

/// `--progress`, for the commands whose work may take long.
struct ProgressOptions: ParsableArguments {
    /// Default: a bar on a terminal, nothing in a pipe or a file.
    @Option(help: "Show progress as one line on a terminal, as plain lines for a log, or not at all.")
    var progress = ProgressDisplay.Style.auto

    /// A display in the chosen style; `--quiet` turns it off.
    ///
    /// - Parameter timeLimit: the longest that the work may take, in seconds; `nil` if there is no limit.
    func display(_ store: StoreOptions, timeLimit: Double? = nil) -> ProgressDisplay {
        ProgressDisplay(progress, isQuiet: store.quiet, isLogging: store.verbose, timeLimit: timeLimit)
    }
}

/// `--json`, for the commands that print data.
struct OutputOptions: ParsableArguments {
    /// Data becomes one JSON value on one line, or one value a line for a list. Messages stay text.
    @Flag(help: "Print JSON instead of text.")
    var json = false

    /// Prints the result of a command on standard output: `fields` with `--json`, else `text`.
    ///
    /// - Parameters:
    ///   - text: the result for people, with a line feed at its end.
    ///   - quiet: whether `--quiet` was given, which drops a summary. JSON is always printed.
    ///   - isData: whether `text` is what the command was asked for, as in a dry run, or names faults. Otherwise it is
    ///     a summary.
    /// - Throws: `ClosedPipe` if the reader is gone; `UnwritableOutput`.
    func print(_ fields: JSON, text: TerminalText, quiet: Bool, isData: Bool = false) throws {
        if json {
            try fields.print()
        } else if isData || !quiet {
            try Console.output.write(text)
        }
    }
}
