import AvatarStore

/// Messages on standard error, each on one line that begins with `avatars: `.
///
/// A message that cannot be written is dropped: the exit code still tells whether the command succeeded.
enum Message {
    /// Prints why something failed.
    static func error(_ text: String) {
        write(text)
    }

    /// Prints a warning: the command succeeded, but not in the way that a reader might expect.
    static func warning(_ text: String) {
        write("warning: " + text)
    }

    /// Prints information that `--quiet` would drop. The caller checks `--quiet`; see `StoreOptions.note(_:)`.
    static func note(_ text: String) {
        write(text)
    }

    /// Writes one line.
    private static func write(_ text: String) {
        do {
            try Console.diagnostics.write("avatars: \(text)\n")
        } catch {
            // Standard error is the last resort.
        }
    }
}

extension AvatarStoreError {
    /// The command or option that helps with this error; `nil` without one.
    var advice: String? {
        switch code {
        case .noStore: "Create one with `avatars sync`, or name another folder with --store."
        case .noSuchEntry: "`avatars list` shows the stored keys."
        case .syncIsRunning: "Wait for it with --wait."
        case .foreignIndex: "Choose another folder with --store."
        case .unusableRoot: "Choose another folder."
        case .damagedIndex:
            """
            `avatars verify` says what is damaged. `avatars verify --repair` corrects wrong numbers. For other damage, with a backup, \
            move the folders of the store away (`avatars doctor` names them), then run `avatars restore BACKUP`. Without one, \
            `avatars verify --repair` rebuilds the index from the documents, if these are left.
            """
        case .busy: "Try again in a moment."
        case .diskFull:
            "Free space on that disk, for example with `avatars trim --budget SIZE`; you may delete files in the store's caches directory."
        case .overBudget: "`avatars config budget` shows and sets the budget."
        case .readOnly: "Run the command as a user with write access."
        case .startOver: "Process all images once, then continue with the sequence number that --json prints."
        case .imageRefused where failure == .tooLarge: "`avatars config max-image-bytes` shows and sets the limit."
        case .imageRefused where failure == .tooManyPixels: "`avatars config max-pixels` shows and sets the limit."
        case .fetchFailed where failure == .tooManyOpenFiles: "Raise the limit with `ulimit -n 1024`."
        case .fetchFailed where failure == .forbiddenAddress: Self.privateNetworkAdvice
        default: nil
        }
    }

    /// How to reach a host that the address guard refuses.
    static let privateNetworkAdvice =
        "If you trust the host, use --allow-private-network, or for all later commands "
        + "`avatars config allow-private-network true`."

    /// The message, followed by the advice unless the message already says what to do.
    var messageWithAdvice: String {
        let lowercased = message.lowercased()
        let remedies = ["`avatars ", "try again", "run the command again", "choose another folder"]
        let saysItself = remedies.contains { lowercased.contains($0) }
        guard !saysItself, let advice else { return message }
        return "\(message) \(advice)"
    }
}
