import Foundation
import ProgramRunning
import Testing

/// DocC builds pages from all catalogues and comments without a warning, such as one for a broken link or an unknown parameter.
@Suite(.timeLimit(.minutes(5)))
struct DocCTests {
    private static let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    private static var hasDocC: Bool {
        path.split(separator: ":").contains { FileManager.default.isExecutableFile(atPath: "\($0)/docc") }
    }

    @Test(.enabled(if: hasDocC, "needs docc, which comes with the toolchain")) func thereAreNoWarnings() async throws {
        let workplace = try Workplace()
        let script = Page.root.appending(path: "scripts/docs").path(percentEncoded: false)
        let build = Program.executable.resolvingSymlinksInPath().deletingLastPathComponent().path(percentEncoded: false)

        let run = try await workplace.shell("PATH='\(Self.path)' AVATARS_BUILD='\(build)' '\(script)' pages")

        try #require(run.status == 0, "\(run.messages)")
        #expect(workplace.exists("pages/data/documentation/avatarstorehttp.json"))
        for article in ExampleTests.articles {
            #expect(workplace.exists("pages/data/documentation/avatarstore/\(article.lowercased()).json"))
        }
    }
}
