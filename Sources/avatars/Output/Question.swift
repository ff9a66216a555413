import AvatarFoundation

/// A question to the person at the terminal.
enum Question {
    /// Whether a person can read the question and answer it.
    static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 && Console.diagnostics.isTerminal }

    /// Asks, and waits for a line. Any answer but `y` or `yes` is a no.
    ///
    /// - Throws: `UnwritableOutput` if the question cannot be written.
    static func isConfirmed(_ question: TerminalText) throws -> Bool {
        try Console.diagnostics.write("\(question) [y/N] ")
        let answer = readLine()?.withoutBlanks.lowercased()
        return answer == "y" || answer == "yes"
    }
}
