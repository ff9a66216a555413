import ArgumentParser

/// A command that usually ends sooner than a second thread would start.
protocol MostlySynchronousCommand: AsyncParsableCommand {
    /// Does the work on the program's first thread.
    ///
    /// - Returns: false if the arguments need `run`; then nothing is done.
    func runAtOnce() throws -> Bool
}
