import Foundation

/// A text with examples: an article, the README, or the comments of a source file.
struct Page {
    /// The path relative to the repository.
    let path: String
    /// The content of the file.
    let text: String

    /// The repository.
    static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// Reads the file at `path`.
    init(_ path: String) throws {
        self.path = path
        text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// The pages and sources in `folder` and the folders in it.
    static func all(in folder: String) throws -> [Page] {
        let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.allObjects ?? []
        return try names.compactMap { $0 as? String }.sorted()
            .filter { !$0.contains(".build/") && ($0.hasSuffix(".md") || $0.hasSuffix(".swift")) }.map {
                try Page(folder + "/" + $0)
            }
    }

    /// The lines, without indentation and without the `///` of a comment.
    var lines: [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let line = line.trimmingCharacters(in: .whitespaces)
            return line.hasPrefix("///") ? line.dropFirst(3).trimmingCharacters(in: .whitespaces) : line
        }
    }

    /// The fenced blocks marked as `language`, each as its lines.
    func examples(in language: String) -> [[String]] {
        var examples: [[String]] = []
        var example: [String]?
        for line in lines {
            if line.hasPrefix("```") {
                if let example { examples.append(example) }
                example = line == "```" + language ? [] : nil
            } else {
                example?.append(line)
            }
        }
        return examples
    }

    /// The lines outside fenced blocks, as one text.
    var prose: String {
        var isFenced = false
        return lines.filter { line in
            guard line.hasPrefix("```") else { return !isFenced }
            isFenced.toggle()
            return false
        }
        .joined(separator: "\n")
    }

    /// The rows of all tables, without their headings.
    var tableRows: [[String]] {
        var rows: [[String]] = []
        var isBody = false
        for line in lines {
            guard line.hasPrefix("|") else {
                isBody = false
                continue
            }
            if line.hasPrefix("|---") {
                isBody = true
            } else if isBody {
                rows.append(
                    line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                        .map { $0.trimmingCharacters(in: .whitespaces) }
                )
            }
        }
        return rows
    }
}

extension String {
    /// The parts between backticks.
    var quotedWords: [String] {
        split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
}
