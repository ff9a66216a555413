import ArgumentParser
import AvatarStore

/// The exit codes that scripts rely on. The parser's own `validationFailure` is 64.
extension ExitCode {
    /// Done, but some entries failed, or one that was named is not there.
    static let someFailed = ExitCode(1)
    /// Nothing could be done: unreadable input, or the store cannot be opened or written.
    static let couldNotRun = ExitCode(2)
    /// There were images to ask for, and not one could be asked or answered.
    static let unreached = ExitCode(69)
    /// Another sync is running.
    static let syncIsRunning = ExitCode(75)
}

extension SyncOutcome {
    /// The exit code of a sync that ended so. A sync that SIGTERM ends has 143 in place of 130.
    var exitCode: ExitCode {
        switch self {
        case .complete: .success
        case .incomplete: .someFailed
        case .unreached: .unreached
        case .interrupted: ExitCode(130)
        case .failed: .couldNotRun
        }
    }
}

extension AvatarStoreError {
    /// The exit code of a command that ends with this error.
    var exitCode: ExitCode {
        switch code {
        case .noSuchEntry, .fetchFailed, .imageRefused, .overBudget, .unsupportedURL, .invalidKey, .startOver:
            .someFailed
        case .syncIsRunning: .syncIsRunning
        default: .couldNotRun
        }
    }
}
