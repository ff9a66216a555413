import Foundation
import ProgramRunning
import Testing

/// The rules of the article on alerts.
@Suite(.timeLimit(.minutes(5)))
struct AlertsExamples {
    private static let rules = "Examples/prometheus/avatars.yml"

    /// Each rule uses figures that a store has after a sync.
    @Test func rulesUseFiguresOfTheStore() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.txt", origin.url("/ada.png") + "\n")
            try FileManager.default.createDirectory(atPath: workplace.path("cards"), withIntermediateDirectories: true)
            _ = try await workplace.run("sync", "people.txt", "cards", "--allow-private-network")

            let figures = try await workplace.run("stats", "--format", "prometheus").text
            let named = try Page(Self.rules).lines.filter { !$0.hasPrefix("#") }.joined(separator: "\n")
                .matches(of: /avatars_\w+/).map { String($0.output) }

            #expect(named.count >= 6)
            for name in named { #expect(figures.contains("# TYPE \(name) "), "\(name)") }
        }
    }

    /// The article shows the same rules, without the notes to people.
    @Test func rulesOfTheArticleAreInTheFile() throws {
        let file = Set(try Page(Self.rules).lines)
        let blocks = try Page("Sources/AvatarStore/AvatarStore.docc/Alerts.md").examples(in: "yaml")
        #expect(blocks.count == 4)
        for line in blocks.joined() { #expect(file.contains(line), "\(line)") }
    }
}
