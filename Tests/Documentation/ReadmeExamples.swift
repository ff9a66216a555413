import AvatarStore
import AvatarStoreTesting
import ProgramRunning
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeExamples {
    /// Runs the terminal excerpts, one command after the other. Numbers, digests, times and places may differ; lines may be
    /// left out where the page has `…`.
    @Test func onTheCommandLine() async throws {
        try await withImages { origin in
            let ada = origin.url("/ada.png")
            let workplace = try Workplace()
            let list = try #require(try Page("README.md").examples(in: "json").first).joined(separator: "\n")
            try workplace.write("people.json", list.replacing("https://example.org/", with: origin.url("/")))
            let blocks = try Page("README.md").examples(in: "console")
            #expect(blocks.count == 3)
            let steps = blocks.filter { !$0.joined().contains("avatars serve") }.joined()
            for step in Self.steps(of: Array(steps)) {
                let run = try await workplace.shell(
                    """
                    avatars() {
                        case "$1" in
                        sync) "$AVATARS" "$@" --allow-private-network ;;
                        *) "$AVATARS" "$@" ;;
                        esac
                    }
                    \(step.command.replacing(Self.adaOnThePage, with: ada))
                    """
                )

                #expect(run.status == 0, "\(step.command): \(run.messages)")
                expect(run.text.replacing(ada, with: Self.adaOnThePage), matches: step)
            }
        }
    }

    /// The lines of `text` are those of the page, except for those that the page leaves out.
    func expect(_ text: String, matches step: Step) {
        let printed = text.split(separator: "\n").map(Self.plain)
        let expected = step.output.filter { $0 != "…" }.map(Self.plain)
        guard expected.count < step.output.count else {
            #expect(printed == expected, "\(step.command)")
            return
        }
        var rest = printed[...]
        for line in expected {
            rest = rest.drop { $0 != line }
            #expect(rest.first == line, "\(step.command) printed \(printed)")
            rest = rest.dropFirst()
        }
    }

    private static let adaOnThePage = "https://example.org/ada.png"

    /// A command after `$`, and the lines below it.
    struct Step {
        let command: String
        var output: [String] = []
    }

    static func steps(of lines: [String]) -> [Step] {
        var steps: [Step] = []
        for line in lines where !line.isEmpty {
            if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if !steps.isEmpty {
                steps[steps.count - 1].output.append(line)
            }
        }
        return steps
    }

    /// The line with single spaces, and with marks in place of what differs from run to run.
    private static func plain(_ line: some StringProtocol) -> String {
        let words = line.split(separator: " ").joined(separator: " ")
        guard words.firstMatch(of: /^\/\S+\/caches\/\S+$/) == nil else { return "a file in caches" }
        return words.replacing(/"(digest|time)":"[^"]*"/) { match in "\"\(match.output.1)\":\"…\"" }
            .replacing(/\["\/[^"]*"\]/, with: "[\"…\"]").replacing(/[0-9]+(?:\.[0-9]+)?/, with: "#")
    }
}
