import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import avatars

/// No text from outside commands the terminal: ids, names, paths and arguments lose their control characters.
@Suite(.timeLimit(.minutes(5))) struct TerminalTextTests {
    /// Clears the screen, in 7 and in 8 bits; sets the title of the window; ends the line; turns the direction of text.
    private static let hostile = "e\u{1B}[2J\u{9B}2J\u{1B}]0;x\u{7}\r\n\u{202E}\u{2028}v\u{7F}"

    /// The control characters of `text` without its line feeds, and the characters that turn its direction.
    private func controls(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { $0 != "\n" && TerminalText.isUnsafe($0) }
    }

    @Test func noCommandPrintsAControlCharacter() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            let contacts: [[String: String]] = [
                ["id": Self.hostile, "name": Self.hostile, "avatarURL": origin.url("/ada.png")],
                ["id": Self.hostile, "name": "twice", "avatarURL": origin.url("/ada.png")],
                ["id": "none" + Self.hostile, "name": "none" + Self.hostile],
                ["id": "bad" + Self.hostile, "name": "bad", "avatarURL": "ftp://" + Self.hostile],
                ["id": "gone" + Self.hostile, "name": "gone", "avatarURL": origin.url("/nothing.png")],
            ]
            try workplace.write("people.json", Array(JSONEncoder().encode(contacts)))
            let fields = "hostile\(Self.hostile)"
            try workplace.write("fields.csv", "\"\(fields)\"\nx\n")
            let key = "name:\(Self.hostile)"
            try workplace.write("own.png", imageBytes("/ada.png"))
            let commands = [
                ["sync", "people.json", "--allow-private-network"],
                ["sync", "people.json", "--allow-private-network", "--all", "--verbose"], ["sync", "fields.csv"],
                ["save", "own.png", "--name", Self.hostile], ["list"], ["list", "--owner", "x" + Self.hostile],
                ["contacts"], ["contacts", "--limit", "1"], ["show", key], ["show", "--contact", Self.hostile],
                ["changes"], ["path", key + "2"], ["get", key + "2"], ["fetch", Self.hostile],
                ["move", key, "--to", "documents"],
                ["export", "out" + Self.hostile], ["export", "mirror", "--mirror", "--dry-run"],
                ["backup", "copy" + Self.hostile], ["restore", "none" + Self.hostile], ["import", Self.hostile],
                ["config", Self.hostile], ["verify"], ["stats"], ["doctor"], ["ignore", Self.hostile], [Self.hostile],
                ["remove", "--owner", "none" + Self.hostile, "--dry-run"],
                ["remove", "--owner", "none" + Self.hostile], ["remove", "--owner", "x" + Self.hostile],
                ["remove", "--owner", Self.hostile, "--erase"], ["remove", key + "2"],
            ]
            for arguments in commands {
                for options in [[], ["--json"]] {
                    let run = try await workplace.start(arguments + options).end()
                    let name = arguments.prefix(2).joined(separator: " ").debugDescription
                    #expect(controls(run.text).isEmpty, "\(name) \(options): \(run.text.debugDescription)")
                    #expect(controls(run.messages).isEmpty, "\(name) \(options): \(run.messages.debugDescription)")
                }
            }
        }
    }

    /// An escape means the same in JSON.
    @Test func jsonKeepsTheText() async throws {
        let workplace = try Workplace()
        try workplace.write("own.png", imageBytes("/ada.png"))
        try await workplace.run("save", "own.png", "--name", Self.hostile).requireSuccess()

        let run = try await workplace.run("list", "--json")

        #expect(try run.object.text("key") == "name:" + Self.hostile)
    }

    @Test func literalsKeepTheirControlCharacters() {
        let name = Self.hostile
        let text: TerminalText = "\u{1B}[1m\(name)\u{1B}[0m \(7)\n"

        #expect(text.safe == "\u{1B}[1m\(TerminalText.oneLine(name))\u{1B}[0m 7\n")
        #expect(controls(TerminalText(name).safe).isEmpty && !TerminalText(name).safe.contains("\n"))
        #expect(TerminalText("Zoë 漢").safe == "Zoë 漢")
    }
}
