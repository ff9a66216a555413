import AvatarStore

/// What is said on standard error, beside the data.
enum Message {
    /// Why something did not work.
    static func error(_ text: String) {
        say(text)
    }

    /// What worked, but not as somebody might expect.
    static func warning(_ text: String) {
        say("warning: " + text)
    }

    /// What somebody at the keyboard may want to know.
    static func note(_ text: String) {
        say(text)
    }

    private static func say(_ text: String) {
        do {
            try Console.diagnostics.write("avatars: \(Wording.oneLine(text))\n")
        } catch {
            // There is no other place to say it, and the exit code says the most important part.
        }
    }
}

extension AvatarStoreError {
    /// What a person at a shell can do about it, where the message does not say so itself; `nil` if there is nothing.
    var advice: String? {
        switch code {
        case .noStore: "`avatars sync` makes one; --store names another place."
        case .noSuchEntry: "`avatars list` shows what there is."
        case .syncIsRunning: "--wait waits for it to end."
        case .foreignIndex: "Choose another place with --store."
        case .damagedIndex: "`avatars verify --repair` sets it aside and makes it anew from the documents."
        case .busy: "Try again in a moment."
        case .diskFull: "Make room on that disk. What lies in the store's caches may be deleted by hand."
        case .overBudget: "`avatars config budget` shows and sets the budget."
        case .unusableRoot: "Choose another place with --store."
        case .readOnly: "Run it as somebody who may write there."
        case .startOver: "Look at all images once, and go on from the number that --json gives."
        case .imageRefused where failure == .tooLarge: "`avatars config max-image-bytes` shows and sets the limit."
        case .imageRefused where failure == .tooManyPixels: "`avatars config max-pixels` shows and sets the limit."
        case .fetchFailed where failure == .forbiddenAddress: "--allow-private-network allows it."
        default: nil
        }
    }

    /// The message, and the advice unless the message has some of its own.
    var messageWithAdvice: String {
        let saysItself = message.contains("`avatars ") || message.lowercased().contains("try again")
        guard !saysItself, let advice else { return message }
        return "\(message) \(advice)"
    }
}
