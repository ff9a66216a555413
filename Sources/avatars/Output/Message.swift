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
