import Foundation
import Testing

/// The examples in pages and articles are compiled and run.
///
/// Each example is in a test file line by line, in one piece, with the same names. Only URLs and directories differ:
/// `"https://example.org/ada-small.png"` and `"/var/lib/contacts/avatars"` are the variables `adaSmall` and `avatars` there.
@Suite(.timeLimit(.minutes(5)))
struct ExampleTests {
    /// The articles of the catalogue; each must be in its list of topics.
    static let articles = [
        "GettingStarted", "EmbeddingInAService", "StorageClassesAndTheBudget", "FreshnessAndOffline", "AfterACrash",
        "ContactsAndChanges", "TestingWithAvatarStoreTesting", "OperatingAStore", "SeveralMachines", "IndexSchema",
        "CachingRules",
        "CommandLine", "ContactLists", "AddressBooks", "EmailImages", "Limits", "NetworkAccess", "Placeholders",
        "RetriesAndPausedHosts", "ServingImages", "SettingsAndTuning", "URLsThatChange", "OriginClients",
        "MovingFromAnotherCache",
        "IgnoredImages", "Sizes", "Metadata", "Promises", "Alerts",
        "AddressBooksOfNextcloud", "AddressBooksOfSmallServers", "AddressBooksOfICloud", "AddressBooksOfFastmail",
        "AddressBooksOfGoogle", "AddressBooksInFolders", "AddressBooksOfDirectories",
    ]

    private static let catalogue = "Sources/AvatarStore/AvatarStore.docc/"

    @Test(arguments: [
        ("GettingStarted", 7), ("EmbeddingInAService", 8), ("StorageClassesAndTheBudget", 4),
        ("FreshnessAndOffline", 5),
        ("AfterACrash", 3), ("ContactsAndChanges", 11), ("TestingWithAvatarStoreTesting", 4), ("AvatarStore", 1),
        ("OriginClients", 4), ("MovingFromAnotherCache", 1), ("ContactLists", 1), ("AddressBooks", 1),
    ])
    func examplesOfArticlesAreRun(article: String, count: Int) throws {
        try expectRun(Page(Self.catalogue + article + ".md"), "Tests/PageExamples/\(article)Examples.swift", count)
    }

    @Test func examplesOfTheReadmeAreRun() throws {
        try expectRun(Page("README.md"), "Tests/PageExamples/ReadmeExamples.swift", 1)
    }

    @Test(arguments: [
        ("Sources/AvatarFrontEnds", "Tests/PageExamples/FrontEndsExamples.swift", 15),
        ("Sources/AvatarPublisher", "Tests/PageExamples/PublisherExamples.swift", 1),
        ("Sources/AvatarStoreHTTP", "Tests/PageExamples/AvatarStoreHTTPExamples.swift", 6),
    ])
    func examplesOfFurtherModulesAreRun(folder: String, tests: String, count: Int) throws {
        let pages = try Page.all(in: folder)
        #expect(pages.map { $0.examples(in: "swift").count }.reduce(0, +) == count)
        for page in pages { try expectRun(page, tests) }
    }

    @Test func metricsTableMatchesTheSource() throws {
        func rows(_ path: String) throws -> [[String]] {
            try Page(path).tableRows.filter { $0[0].hasPrefix("`avatar_store_") }
        }
        let counted = try rows("Sources/AvatarStore/Common/StoreMetrics.swift")
        #expect(counted.count == 10)
        #expect(try rows("Sources/AvatarStore/AvatarStore.docc/EmbeddingInAService.md") == counted)
    }

    /// The examples see only what another package sees, and use only what it can depend on.
    @Test func examplesAreCompiledAsInAnotherPackage() async throws {
        let manifest = try await Manifest.loaded
        let target = try #require(manifest.targets.first { $0.name == "PageExampleTests" })
        #expect(!target.packageAccess)
        #expect(target.targets.count >= 7 && manifest.libraries.isSuperset(of: target.targets), "\(target.targets)")
    }

    /// While SwiftPM loads the manifest of a dependency for the first time, its path is `/`. Several default traits have an order
    /// that changes. `scripts/embedding` builds what follows from both.
    @Test func manifestDecidesNothingByAPath_andOneTraitIsOnByDefault() throws {
        let manifest = try Page("Package.swift").lines.joined(separator: " ")
        #expect(!manifest.contains("packageDirectory") && !manifest.contains("#filePath"))
        #expect(manifest.contains(#".default(enabledTraits: isDevelopment ? [] : ["Standard"])"#))
        for script in ["scripts/lib.sh", "CONTRIBUTING.md"] {
            #expect(try Page(script).text.contains("export AVATARS_DEVELOPMENT=1"), "\(script)")
        }
    }

    /// The package outside has the same examples, and names the packages that `GettingStarted.md` counts.
    @Test func packageOutsideCompilesTheExamples() throws {
        let script = try Page("scripts/embedding").text
        #expect(script.contains("Tests/PageExamples") && script.contains("Examples/embedding/Package.swift"))
        let rows = try Page(Self.catalogue + "GettingStarted.md").tableRows.filter { $0.count == 4 }
        let documented = rows.compactMap { Int($0[1].prefix { $0.isNumber }) }
        let expected = script.matches(of: /fetched=(\d+)/).compactMap { Int($0.1) }
        #expect(documented == [25, 9, 9] && Set(documented) == Set(expected))
    }

    @Test func eachArticleIsListed() throws {
        let pages = try Page.all(in: String(Self.catalogue.dropLast())).map { $0.path.split(separator: "/").last }
        #expect(Set(pages) == Set((Self.articles + ["AvatarStore"]).map { "\($0).md" }))
        let list = try Page(Self.catalogue + "AvatarStore.md").lines
        for article in Self.articles { #expect(list.contains("- <doc:\(article)>")) }
    }

    @Test(arguments: ["FetchableImages", "FutureAvatars", "RemoteAvatars", "AvatarLoaders", "Prefetching"])
    func eachFrontEndHasAnArticle(name: String) throws {
        let folder = "Sources/AvatarFrontEnds/AvatarFrontEnds.docc/"
        #expect(try !Page(folder + name + ".md").examples(in: "swift").isEmpty)
        #expect(try Page(folder + "AvatarFrontEnds.md").lines.contains("- <doc:\(name)>"))
    }

    /// Each Swift example of `page` must be in the file `tests`.
    ///
    /// - Parameter count: The number of examples that the page must have; `nil` for any number.
    private func expectRun(_ page: Page, _ tests: String, _ count: Int? = nil) throws {
        let run = try Page(tests).lines.map(plain).filter { !$0.isEmpty }
        let examples = page.examples(in: "swift")
        if let count { #expect(examples.count == count) }
        // The package does not depend on Vapor; the page of AvatarStoreHTTP says that its example is not compiled.
        for example in examples where !example.contains("import Vapor") {
            let lines = example.map(plain).filter { !$0.isEmpty }
            let statements = lines.filter { !$0.hasPrefix("import ") }
            let isThere = run.indices.contains { run[$0...].starts(with: statements) }
            #expect(isThere, "\(page.path): \(statements.first ?? "")")
            #expect(lines.allSatisfy { !$0.hasPrefix("import ") || run.contains($0) })
        }
    }

    /// The line with variable names in place of URLs and directories, and with single spaces.
    private func plain(_ line: String) -> String {
        line.replacing(/"(?:https:\/\/example\.org|\/var\/lib\/contacts)\/([a-z]+)(?:-([a-z]+))?(?:\.[a-z]+)?"/) {
            match in
            match.output.1 + (match.output.2?.capitalized ?? "")
        }
        .split(separator: " ").joined(separator: " ")
    }
}
