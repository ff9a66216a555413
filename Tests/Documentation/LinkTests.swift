import Foundation
import Testing

/// That what the texts in the repository point at is there.
struct LinkTests {
    @Test(arguments: [("README.md", ""), ("CONTRIBUTING.md", ""), ("docs/ARCHITECTURE.md", "docs/")])
    func linksLeadSomewhere(page: String, folder: String) throws {
        let links = try Page(page).text.matches(of: /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/).map { String($0.1) }
        #expect(!links.isEmpty)
        for link in links { #expect(isThere(folder + link), "\(link)") }
    }

    @Test func theFilesToReadAreThere() throws {
        let rows = try Page("CONTRIBUTING.md").tableRows.filter { Int($0[0]) != nil }
        #expect(rows.count == 12)
        for row in rows {
            var folder = ""
            for name in row[1].quotedWords {
                // A name alone lies beside the file before it.
                let path = name.contains("/") ? name : folder + name
                #expect(isThere(path) || isThere("Sources/" + path), "\(path)")
                folder = String(path[..<(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)])
            }
        }
    }

    private func isThere(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Page.root.appending(path: path).path(percentEncoded: false))
    }
}
