import Foundation

/// What stands around the steps.
extension Page {
    func showTitle(_ people: Int, _ place: DemoPlace) {
        line(
            "AvatarStore demo: \(Figures.count(people)) people, \(Origins.count) web servers on this machine, no network."
        )
        line("Store and contact list are left in \(place.directory)")
    }

    /// What the reader may type next.
    func showCommands(_ place: DemoPlace, portrait url: String) {
        let program = Self.program
        line()
        line("\(claimsThatHeld) claims held. Now look at the store yourself (its origins are gone):")
        line("   export AVATARS_STORE=\(Self.quoted(place.directory))")
        for command in [
            "stats",
            "list --state fresh --limit 5",
            "show \(url)",
            "sync \"$AVATARS_STORE/contacts.json\" --dry-run",
        ] {
            line("   \(program) \(command)")
        }
    }

    /// The program as it was called, so that a line can be copied.
    private static var program: String {
        let called = ProcessInfo.processInfo.arguments.first ?? ""
        return called == "avatars" || called.hasSuffix("/avatars") ? quoted(called) : "avatars"
    }

    /// `text` as one word for a shell.
    private static func quoted(_ text: String) -> String {
        let plain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0)) }
        return plain ? text : "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
