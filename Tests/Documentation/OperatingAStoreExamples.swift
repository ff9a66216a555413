import Foundation
import ProgramRunning
import Testing

struct OperatingAStoreExamples {
    /// Runs all commands of the article in order, against an origin on loopback.
    @Test func theCommandsOfTheArticleRun() async throws {
        try await withPictures { origin in
            let ada = origin.url("/ada.png")
            let workplace = try Workplace()
            try workplace.write("people.json", #"[{"id": "42", "avatarURL": "\#(ada)"}, {"id": "43"}]"#)
            let blocks = try Page("Sources/AvatarStore/AvatarStore.docc/OperatingAStore.md").examples(in: "shell")
            #expect(blocks.count == 7)
            let commands = blocks.joined().joined(separator: "\n").replacing("https://example.org/ada.png", with: ada)

            let run = try await workplace.shell(
                """
                set -eu
                avatars() {
                    case "$1" in
                    sync) "$AVATARS" "$@" --allow-private-network ;;
                    *) "$AVATARS" "$@" ;;
                    esac
                }
                \(commands)
                """
            )

            #expect(run.status == 0, "\(run.messages)")
            #expect(origin.requestCount == 1)
            let backups = try FileManager.default.contentsOfDirectory(atPath: workplace.path("backups"))
            #expect(backups.count == 1 && workplace.exists("backups/\(backups[0])/index.sqlite"))
            #expect(workplace.exists("restored/index.sqlite"))
            #expect(try await workplace.run("config", "budget").text.contains("512"))
        }
    }
}
