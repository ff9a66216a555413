import Foundation
import ProgramRunning

/// The public declarations of a module, as the compiler sees them.
struct SymbolGraph {
    let symbols: [Symbol]

    struct Symbol: Decodable {
        struct Fragment: Decodable {
            let spelling: String
        }

        struct Comment: Decodable {
            struct Line: Decodable {
                let text: String
            }

            let lines: [Line]
        }

        struct Location: Decodable {
            let uri: String
        }

        let pathComponents: [String]
        let declarationFragments: [Fragment]?
        let docComment: Comment?
        /// `nil` if the compiler made it.
        let location: Location?

        /// In one line: where it belongs, and what it says.
        var line: String {
            let text = (declarationFragments ?? []).map(\.spelling).joined()
            let words = text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
            return "\(pathComponents.joined(separator: ".")): \(words)"
        }

        var isDocumented: Bool {
            docComment?.lines.contains { !$0.text.allSatisfy(\.isWhitespace) } ?? false
        }
    }

    private struct Contents: Decodable {
        let symbols: [Symbol]
    }

    /// Asks the toolchain for the declarations of `module`, which was built beside these tests.
    init(module: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "avatars-interface-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // If this fails, the folder stays with the system's temporary files, which the system deletes.
        defer { try? FileManager.default.removeItem(at: folder) }
        let build = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let script = "cd \"$1\"; . scripts/lib.sh; shift; symbol_graph \"$@\""
        let run = try await Workplace().run(
            tool: "/usr/bin/env",
            ["bash", "-euo", "pipefail", "-c", script, "symbol_graph", root.path, module, build.path, folder.path],
            environment: ProcessInfo.processInfo.environment
        )
        guard run.status == 0 else { throw ExtractionFailed(module: module, messages: run.messages) }
        // A module's extensions of another module's types are in a file of their own.
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        symbols = try files.flatMap { file in
            try JSONDecoder().decode(Contents.self, from: Data(contentsOf: file)).symbols
        }
    }

    struct ExtractionFailed: Error {
        let module: String
        let messages: String
    }

    /// Whether the toolchain can be asked.
    static let isAvailable = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/swift-symbolgraph-extract")
    }
}
