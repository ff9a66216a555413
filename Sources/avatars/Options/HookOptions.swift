import ArgumentParser
import AvatarStore

/// The options of the commands that run another command after a sync.
struct HookOptions: ParsableArguments {
    /// Sets `ChangeHook.command`.
    @Option(
        help: ArgumentHelp(
            "After each sync, if images changed, run this command with /bin/sh. It reads the changes as `avatars changes --json` "
                + "prints them; a command that fails gets them again after the next sync.",
            valueName: "command"
        )
    )
    var onChange: String?

    /// Sets `ChangeHook.timeout`.
    @Option(
        help: ArgumentHelp("End the command of --on-change after this time. Default: 60s.", valueName: "time"),
        transform: TimeSpan.parse
    )
    var onChangeTimeout: Duration?

    /// - Throws: `ValidationError` for a command of spaces only, and a time without a command.
    func validate() throws {
        if let onChange, onChange.allSatisfy(\.isWhitespace) {
            throw ValidationError("--on-change must not be empty. Name a command.")
        }
        if onChangeTimeout != nil, onChange == nil { throw ValidationError("--on-change-timeout needs --on-change.") }
    }

    /// The hook; `nil` without `--on-change`.
    ///
    /// - Parameter location: the store as the command names it.
    func hook(for location: StoreLocation) -> ChangeHook? {
        onChange.map {
            ChangeHook(command: $0, timeout: onChangeTimeout ?? .seconds(60), directory: location.singleDirectory)
        }
    }
}
