import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OperatingAStoreExamples {
    /// Runs all commands of the article in order, against an origin on loopback.
    @Test func theCommandsOfTheArticleRun() async throws {
        try await withImages { origin in
            let ada = origin.url("/ada.png")
            let workplace = try Workplace()
            try workplace.write("people.json", #"[{"id": "42", "avatarURL": "\#(ada)"}, {"id": "43"}]"#)
            try workplace.write("newer.png", SampleImage.png(seed: 2, byteCount: 1000))
            let blocks = try Page("Sources/AvatarStore/AvatarStore.docc/OperatingAStore.md").examples(in: "shell")
            #expect(blocks.count == 10)
            let commands = blocks.joined().joined(separator: "\n").replacing("https://example.org/ada.png", with: ada)

            let run = try await workplace.shell(
                """
                set -eu
                avatars() {
                    case "$*" in
                    sync*) "$AVATARS" "$@" --allow-private-network ;;
                    "verify --repair --store store.lost") "$AVATARS" "$@" || [ $? = 1 ] ;;
                    *) "$AVATARS" "$@" ;;
                    esac
                }
                mv() {
                    "$AVATARS" save newer.png --name newer
                    rm store/index.sqlite
                    command mv "$@"
                }
                \(commands)
                """
            )

            #expect(run.status == 0, "\(run.messages)")
            #expect(origin.requestCount == 1)
            let backups = try FileManager.default.contentsOfDirectory(atPath: workplace.path("backups"))
            #expect(backups.count == 1 && workplace.exists("backups/\(backups[0])/index.sqlite"))
            #expect(workplace.exists("restored/index.sqlite"))
            #expect(try await workplace.run("list").text.contains("name:newer"), "saved after the backup")
            #expect(try await workplace.run("verify").status == 0)
            #expect(try await workplace.run("config", "budget").text.contains("512"))
        }
    }
}
