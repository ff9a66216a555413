import Foundation
import Testing

/// The picture of the modules agrees with the package's manifest and with the imports.
@Suite(.timeLimit(.minutes(5)))
struct ArchitectureTests {
    /// A target of the manifest.
    private struct Target {
        let name: String
        /// The folder of its sources.
        let path: String
        /// Its dependencies in this package.
        let targets: Set<String>
        /// Its dependencies in other packages.
        let products: Set<String>
    }

    /// The targets of the program and the library, without test targets.
    private static func targets() throws -> [Target] {
        let manifest = try Page("Package.swift").text
        let declarations = manifest.matches(
            of: /\n        \.(?<kind>\w+)\(\s*name: "(?<name>[\w-]+)"(?<rest>(?s:.*?))(?=\n        [.\/\]]|\n    \])/
        )
        let targets = declarations.filter { $0.kind.lowercased().hasSuffix("target") || $0.kind == "systemLibrary" }
        let names = targets.map { String($0.name) }
        return targets.compactMap { declaration in
            let rest = declaration.rest
            let path = rest.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) } ?? "Sources/\(declaration.name)"
            guard declaration.kind != "testTarget", !path.hasPrefix("Tests/") else { return nil }
            let dependencies =
                rest.firstMatch(of: /dependencies: (\[(?s:.*?)\]),\s*(?:path|swiftSettings|linkerSettings)/)?.1 ?? ""
            let products = dependencies.matches(of: /\.product\(\s*name: "(\w+)"/).map { String($0.1) }
            let words = dependencies.replacing(/\.product\([^)]*\)/, with: "").matches(of: /"([\w-]+)"/).map {
                String($0.1)
            }
            return Target(
                name: String(declaration.name),
                path: path,
                targets: Set(words).intersection(names),
                products: Set(products)
            )
        }
    }

    /// The modules that the sources in `folder` import.
    private static func imports(in folder: String) throws -> Set<String> {
        var modules: Set<String> = []
        for page in try Page.all(in: folder) where page.path.hasSuffix(".swift") {
            for match in page.text.matches(of: /(?m:^)(?:@\w+ )*(?:(?:public|package|internal|private) )?import (\w+)/)
            {
                modules.insert(String(match.1))
            }
        }
        return modules
    }

    /// The arrows of the picture, such as `AvatarStore --> AvatarCore`.
    private static func arrows() throws -> Set<String> {
        let picture = try Page("docs/ARCHITECTURE.md").examples(in: "mermaid").joined()
        return Set(picture.filter { $0.contains("-->") })
    }

    @Test func thePictureShowsTheManifest() throws {
        let targets = try Self.targets()
        #expect(targets.count == 35)
        let declared = targets.flatMap { target in target.targets.map { "\(target.name) --> \($0)" } }
        #expect(try Self.arrows().subtracting(declared).sorted() == [], "not in the manifest")
        #expect(try Set(declared).subtracting(Self.arrows()).sorted() == [], "not in the picture")
    }

    @Test func theManifestListsTheImports() throws {
        let system: Set = [
            "Combine", "CoreGraphics", "CoreText", "CryptoKit", "Darwin", "Dispatch", "Foundation",
            "FoundationEssentials", "Glibc", "ImageIO", "Observation",
            "SwiftUI", "Synchronization",
        ]
        // Targets in C have no imports.
        let targets = try Self.targets().filter { !$0.name.hasPrefix("CAvatar") && $0.name != "avatars-decoder" }
        for target in targets where !target.targets.union(target.products).isEmpty {
            let imports = try Self.imports(in: target.path).subtracting(system)
            #expect(imports == target.targets.union(target.products), "\(target.name)")
        }
    }

    /// Foundation would link the tables of ICU into each program.
    @Test func noSourceImportsFoundationWhereItsEssentialsAre() throws {
        // Both branches import; the second is for systems without the part.
        let start = "#if canImport(FoundationEssentials)\n"
        let choice = /[^#\n]*\n#else\n(?:@_exported )?(?:public )?import Foundation\n#endif\n/
        let anyImport = /(?m:^)[^\/\n]*\bimport (?:\w+ )?Foundation(?:\.\w+)?(?m:$)/
        for page in try Page.all(in: "Sources") where page.path.hasSuffix(".swift") {
            // Its code is for systems that have Foundation anyway.
            if page.path.hasSuffix("Canvas+CoreText.swift") { continue }
            let rest = page.text.split(separator: start, omittingEmptySubsequences: false)
                .map { $0.replacing(choice, with: "", maxReplacements: 1) }.joined(separator: "\n")
            #expect(rest.matches(of: anyImport).isEmpty, "\(page.path)")
        }
    }

    /// The first rule on the page.
    @Test func indexFilesAndOriginAreIndependent() throws {
        let worlds = ["AvatarIndex", "AvatarFiles", "AvatarOrigin"]
        for world in worlds {
            let imports = try Self.imports(in: "Sources/" + world)
            #expect(imports.isDisjoint(with: worlds))
        }
        #expect(try Self.imports(in: "Sources/AvatarCore").isDisjoint(with: Self.targets().map(\.name)))
    }

    @Test func eachModuleIsInTheTable() throws {
        let page = try Page("docs/ARCHITECTURE.md")
        let named =
            page.tableRows.flatMap { $0[0].quotedWords } + [
                "CAvatarCurl", "CAvatarDecoder", "CAvatarSystem", "CAvatarXML", "CCurl", "COpenSSL", "CPango",
                "CSQLite", "CZlib",
            ]
        #expect(try Set(named) == Set(Self.targets().map(\.name)))
    }
}
