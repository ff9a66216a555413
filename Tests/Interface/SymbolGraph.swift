import Foundation

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
    init(module: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "avatars-interface-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // If this fails, the folder stays with the system's temporary files, which the system deletes.
        defer { try? FileManager.default.removeItem(at: folder) }
        let build = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.currentDirectoryURL = URL(filePath: #filePath).appending(path: "../../..").standardized
        process.arguments = [
            "bash", "-euo", "pipefail", "-c", ". scripts/lib.sh; symbol_graph \"$@\"", "symbol_graph",
            module, build.path, folder.path,
        ]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ExtractionFailed(module: module) }
        // A module's extensions of another module's types are in a file of their own.
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        symbols = try files.flatMap { file in
            try JSONDecoder().decode(Contents.self, from: Data(contentsOf: file)).symbols
        }
    }

    struct ExtractionFailed: Error {
        let module: String
    }

    /// Whether the toolchain can be asked.
    static let isAvailable: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sh", "-c", "command -v swift-symbolgraph-extract"]
        process.standardOutput = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            return false
        }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
