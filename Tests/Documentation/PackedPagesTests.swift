import Foundation
import ProgramRunning
import Testing

/// The pages of a release, for readers without the repository.
@Suite(.timeLimit(.minutes(5)))
struct PackedPagesTests {
    @Test func eachLinkLeadsToAFileOfTheRelease() async throws {
        let workplace = try Workplace()
        let folder = workplace.path("release")
        let root = Page.root.path(percentEncoded: false)

        let run = try await workplace.shell(
            "cd '\(root)' && bash -euo pipefail -c '. scripts/lib.sh; pack_pages \"$0\"' '\(folder)'"
        )

        #expect(run.status == 0, "\(run.messages)")
        var count = 0
        for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init()
        where name.hasSuffix(".md") {
            let page = URL(filePath: folder).appending(path: name)
            let text = try String(contentsOf: page, encoding: .utf8)
            #expect(!text.contains("<doc:"), "\(name)")
            for link in text.matches(of: /\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/).map({ String($0.1) }) {
                let file = page.deletingLastPathComponent().appending(path: link)
                #expect(FileManager.default.fileExists(atPath: file.standardized.path), "\(name): \(link)")
                count += 1
            }
        }
        #expect(count > 60)
    }
}
