import ArgumentParser
import AvatarStore

/// The exit codes that scripts rely on, beside 0 for success and the parser's 64 for a usage error.
extension ExitCode {
    /// The command ran, but some entries failed, or a key or contact is unknown.
    static let someFailed = ExitCode(1)
    /// The command could not run: its input is unreadable, or the store cannot be opened or written.
    static let couldNotRun = ExitCode(2)
    /// A sync had images to request, but got no response, and no image was fresh or fetched.
    static let unreached = ExitCode(69)
    /// Another sync is running on the store.
    static let syncIsRunning = ExitCode(75)
}

extension SyncOutcome {
    /// The exit code of a sync with this outcome. `Interruption.exitStatus` replaces 130 by 143 after a SIGTERM.
    var exitCode: ExitCode { ExitCode(Int32(exitStatus)) }
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
