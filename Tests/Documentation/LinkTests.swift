import Foundation
import ProgramRunning
import Testing

/// Links and paths in the repository's pages lead to files that exist.
@Suite(.timeLimit(.minutes(5)))
struct LinkTests {
    @Test(arguments: [
        ("README.md", ""), ("CONTRIBUTING.md", ""), ("docs/ARCHITECTURE.md", "docs/"),
        ("docs/TROUBLESHOOTING.md", "docs/"),
    ])
    func linksLeadSomewhere(page: String, folder: String) throws {
        let links = try Page(page).text.matches(of: /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/).map { String($0.1) }
        #expect(!links.isEmpty)
        for link in links { #expect(isThere(folder + link), "\(link)") }
    }

    /// A release has all articles in one folder, for readers without DocC.
    @Test func packedArticlesLinkToEachOther() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "articles-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // The system clears its folder for temporary files.
        for article in try Page.all(in: "Sources") where article.path.contains(".docc/") {
            let name = URL(filePath: article.path).lastPathComponent
            try article.text.write(to: folder.appending(path: name), atomically: false, encoding: .utf8)
        }

        let script = "cd \"$1\"; . scripts/lib.sh; link_articles \"$2\""
        let run = try await Workplace().run(
            tool: "/usr/bin/env",
            ["bash", "-euo", "pipefail", "-c", script, "link_articles", Page.root.path, folder.path]
        )

        #expect(run.status == 0, "\(run.messages)")
        var links: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            #expect(!text.contains("<doc:"), "\(name)")
            links.formUnion(text.matches(of: /\]\((\w+\.md)\)/).map { String($0.1) })
        }
        #expect(links.count > 20)
        for link in links {
            #expect(FileManager.default.fileExists(atPath: folder.appending(path: link).path), "\(link)")
        }
    }

    @Test func theFilesToReadAreThere() throws {
        let rows = try Page("CONTRIBUTING.md").tableRows.filter { Int($0[0]) != nil }
        #expect(rows.count == 8)
        for row in rows {
            var folder = ""
            for name in row[1].quotedWords {
                // A name without a folder is beside the file named before it.
                let path = name.contains("/") ? name : folder + name
                #expect(isThere(path) || isThere("Sources/" + path), "\(path)")
                folder = String(path[..<(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)])
            }
        }
    }

    /// A path may be relative to the repository or to `Sources`; a bare file name may be in any folder.
    @Test(arguments: ["CONTRIBUTING.md", "docs/ARCHITECTURE.md"])
    func namedPathsExist(page: String) throws {
        let fileNames = Self.fileNames()
        let words = try Page(page).prose.quotedWords.compactMap { $0.split(separator: " ").first.map(String.init) }
        let paths = words.filter(Self.isPath)
        #expect(paths.count >= 3)
        for path in paths {
            #expect(isThere(path) || isThere("Sources/" + path) || fileNames.contains(path), "\(path)")
        }
    }

    /// Words that stand for a name in instructions; a path with one of them names no file.
    private static let placeholders = ["000N", "NAME", "ARTICLE"]

    private static func isPath(_ word: String) -> Bool {
        guard word.wholeMatch(of: /[\w+.\/-]+/) != nil, !word.hasPrefix("/") else { return false }
        guard !placeholders.contains(where: { word.contains($0) }) else { return false }
        return word.contains("/") || [".swift", ".sql", ".md"].contains { word.hasSuffix($0) }
    }

    private static func fileNames() -> Set<String> {
        var names: Set<String> = ["Package.swift", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
        for folder in ["Sources", "Tests", "Migrations", "docs"] {
            let paths = FileManager.default.enumerator(atPath: Page.root.appending(path: folder).path)?.allObjects ?? []
            names.formUnion(paths.compactMap { ($0 as? String)?.split(separator: "/").last.map(String.init) })
        }
        return names
    }

    private func isThere(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Page.root.appending(path: path).path(percentEncoded: false))
    }
}
