import Foundation
import Testing

/// The image of the modules agrees with the package's manifest and with the imports.
@Suite(.timeLimit(.minutes(5)))
struct ArchitectureTests {
    /// The targets of the program and the library, without those of tests and examples.
    private static var targets: [Manifest.Target] {
        get async throws {
            try await Manifest.loaded.targets.filter { $0.path.hasPrefix("Sources/") }
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

    /// The arrows of the image, such as `AvatarStore --> AvatarCore`.
    private static func arrows() throws -> Set<String> {
        let image = try Page("docs/ARCHITECTURE.md").examples(in: "mermaid").joined()
        return Set(image.filter { $0.contains("-->") })
    }

    @Test func theImageShowsTheManifest() async throws {
        let targets = try await Self.targets
        #expect(targets.count == 39)
        let declared = targets.flatMap { target in target.targets.map { "\(target.name) --> \($0)" } }
        #expect(try Self.arrows().subtracting(declared).sorted() == [], "not in the manifest")
        #expect(try Set(declared).subtracting(Self.arrows()).sorted() == [], "not in the picture")
    }

    @Test func theManifestListsTheImports() async throws {
        let system: Set = [
            "Combine", "CoreGraphics", "CoreText", "CryptoKit", "Darwin", "Dispatch", "Foundation",
            "FoundationEssentials", "Glibc", "ImageIO", "Observation",
            "SwiftUI", "Synchronization",
        ]
        // Targets in C have no imports.
        let targets = try await Self.targets.filter { !$0.name.hasPrefix("CAvatar") && $0.name != "avatars-decoder" }
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
        let anyImport = /[^\/]*\bimport (?:\w+ )?Foundation(?:\.\w+)?/
        for page in try Page.all(in: "Sources") where page.path.hasSuffix(".swift") {
            // Its code is for systems that have Foundation anyway.
            if page.path.hasSuffix("Canvas+CoreText.swift") { continue }
            let rest = page.text.split(separator: start, omittingEmptySubsequences: false)
                .map { $0.replacing(choice, with: "", maxReplacements: 1) }.joined(separator: "\n")
            // The expression is slow, and few lines have the word.
            let lines = rest.split(separator: "\n").filter { $0.contains("Foundation") }
            #expect(lines.allSatisfy { $0.wholeMatch(of: anyImport) == nil }, "\(page.path)")
        }
    }

    /// The compiler may unlock an inlined `Mutex` on another thread; see `Locked`.
    @Test func noSourceUsesMutex() throws {
        let users = try Page.all(in: "Sources").filter { $0.path.hasSuffix(".swift") && $0.text.contains(/Mutex[<(]/) }
        #expect(users.map(\.path) == ["Sources/AvatarFoundation/Locked.swift"])
    }

    /// The timer of `Task.sleep` needs /proc (`CAvatarSystem/Tasks.c`); see `Deadlines`. A service and the front ends run in a host
    /// program.
    @Test func theProgramDoesNotUseTaskSleep() throws {
        let hosted = ["AvatarFrontEnds", "AvatarStoreService", "AvatarStoreTesting"]
        let users = try Page.all(in: "Sources").filter { page in
            page.path.hasSuffix(".swift") && page.text.contains("Task.sleep(")
                && !hosted.contains { page.path.hasPrefix("Sources/\($0)/") }
        }
        #expect(users.map(\.path) == [])
    }

    /// The first rule on the page.
    @Test func indexFilesAndOriginAreIndependent() async throws {
        let worlds = ["AvatarIndex", "AvatarFiles", "AvatarOrigin"]
        for world in worlds {
            let imports = try Self.imports(in: "Sources/" + world)
            #expect(imports.isDisjoint(with: worlds))
        }
        let names = try await Self.targets.map(\.name)
        #expect(try Self.imports(in: "Sources/AvatarCore").isDisjoint(with: names))
    }

    /// Planner, fetches and writer know the shared tier by `AnswerSource` and `AnswerSink` alone.
    @Test func theTierIsAGuest() throws {
        let publicInterface: Set = [
            "Sources/AvatarStore/AvatarStore.swift", "Sources/AvatarStore/AvatarStore+Changing.swift",
            "Sources/AvatarStore/Common/StoreConfiguration.swift", "Sources/AvatarStore/Common/RemovalReceipt.swift",
            "Sources/AvatarStore/Common/ErasureReceipt.swift", "Sources/AvatarStore/Sync/SyncReport.swift",
            // It fills in the receipt.
            "Sources/AvatarStore/Removing/StoreWriter+Remove.swift",
        ]
        let sources = try ["AvatarCore", "AvatarWriter", "AvatarStore"].flatMap { try Page.all(in: "Sources/" + $0) }
        let hosts = sources.filter { page in
            page.path.hasSuffix(".swift") && !page.path.contains("/Tier/") && !page.path.contains("/Shared/")
        }
        let named = hosts.filter { $0.text.contains(/\b(?:\w*Tier\w*|tier\w*)/) }.map(\.path)
        #expect(Set(named) == publicInterface)
    }

    /// So the store runs as a whole on a disk that a test simulates.
    @Test func aStoreCallsTheSystemForFilesInOnePlace() throws {
        // Methods of the modules have some of these names too. They are called with `try`, `await` or `self.`; no function
        // of the system throws. A call without an argument is none of the system either.
        let system: Set<Substring> = [
            "openat", "open", "creat", "close", "pread", "preadv", "pwrite", "pwritev", "read", "write", "fsync",
            "fdatasync",
            "syncfs", "sync", "renameat", "rename", "linkat", "link", "symlinkat", "symlink", "unlinkat", "unlink",
            "remove",
            "mkdirat", "mkdir", "mkstemp", "rmdir", "stat", "lstat", "fstatat", "fstat", "statvfs", "fstatvfs",
            "statfs",
            "fstatfs", "opendir", "fdopendir", "readdir", "closedir", "access", "faccessat", "chmod", "fchmod", "chown",
            "fchown", "utimes", "futimens", "utimensat", "flock", "fcntl", "readlinkat", "readlink", "realpath",
            "truncate",
            "ftruncate", "fopen", "lseek", "mmap", "copy_file_range",
        ]
        let call = /(?:\b(?<own>try|await|func|case)\??\s+|(?m:^)|[^\w.`])(?<name>[a-z_]+)\((?!\))/.wordBoundaryKind(
            .simple
        )
        // Calls that carry the module's name, those of `CAvatarSystem`, and Foundation's.
        let other =
            (/\b(?:Glibc|Darwin|AvatarFoundation)\.[a-z]\w*\(|\bavatar_\w+\(|\bFile(?:Manager|Handle)\b[.\w]*|\bcontentsOf(?:File)?: *URL/)
            .wordBoundaryKind(.simple)
        let allowed: Set = [
            // Texts of the program, random bytes and a constant: no file.
            "Sources/AvatarIndex/Schema/Migration.swift: avatar_migration(",
            "Sources/AvatarFiles/FilePath.swift: avatar_random_bytes(",
            "Sources/AvatarFiles/Copying/TargetPath.swift: avatar_passing_flag(",
            // The path of the system's folder for temporary files, without a call on it: the list of a store that is open for
            // reading only goes there, not to the store's disk.
            "Sources/AvatarFiles/ScratchFile.swift: FileManager.default.temporaryDirectory.path",
        ]
        let modules = ["AvatarCore", "AvatarFiles", "AvatarIndex", "AvatarWriter", "AvatarStore", "AvatarMaintenance"]
        var found: Set<String> = []
        for file in try modules.flatMap({ try Module(at: "Sources/" + $0).files }) {
            let calls = file.code.matches(of: call).filter { $0.own == nil && system.contains($0.name) }.map {
                $0.name + "("
            }
            let others = file.code.matches(of: other).map(\.output)
            found.formUnion((calls + others).map { file.path + ": " + $0 })
        }
        #expect(found.subtracting(allowed).sorted() == [], "outside AvatarFileSystem")
        #expect(allowed.subtracting(found).sorted() == [], "no longer there")
    }

    /// libdispatch ends a process without `/proc` that has work on a global queue; see `avatar_run_tasks_without_proc`.
    @Test func noWorkIsOnAGlobalQueueOfTheSystem() throws {
        let users = try Page.all(in: "Sources").filter { $0.text.contains(".global(") }.map(\.path)
        // Memory pressure is of Apple's systems alone.
        #expect(users == ["Sources/AvatarFrontEnds/MemoryCache.swift"])
    }

    @Test func eachModuleIsInTheTable() async throws {
        let page = try Page("docs/ARCHITECTURE.md")
        let named =
            page.tableRows.flatMap { $0[0].quotedWords } + [
                "CAvatarCurl", "CAvatarDecoder", "CAvatarMigrations", "CAvatarSystem", "CAvatarXML", "CCurl",
                "COpenSSL",
                "CPango", "CSQLite", "CZlib",
            ]
        #expect(try await Set(named) == Set(Self.targets.map(\.name)))
    }

    /// The rows of the table of floors: a module, and its folders from the ground up.
    private static func floors() throws -> [String: [String]] {
        let text = try Page("docs/ARCHITECTURE.md").text
        let section = text.components(separatedBy: "\n## ").first { $0.hasPrefix("Floors\n") } ?? ""
        let rows = section.matches(of: /(?m:^)\| `(\w+)` \| (`.*`) \|/)
        return Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), String($0.2).quotedWords) })
    }

    @Test func eachModuleWithFoldersHasFloors() async throws {
        let floors = try Self.floors()
        #expect(floors.count > 1)
        for target in try await Self.targets where target.path.hasPrefix("Sources/") {
            let folders = try Set(Module(at: target.path).files.map(\.folder))
            guard folders.count > 1 else { continue }
            #expect(folders == Set(floors[target.name] ?? []), "\(target.name)")
        }
    }

    /// A file that can be read only with many others is hard to read.
    @Test func circlesOfFilesAreSmall() async throws {
        for target in try await Self.targets where target.path.hasPrefix("Sources/") {
            let module = try Module(at: target.path)
            let homes = module.declared.mapValues(\.path)
            let named = Dictionary(
                uniqueKeysWithValues: module.files.map { ($0.path, Set($0.named.compactMap { homes[$0] })) }
            )
            // The files that each file leads to.
            let reached = named.mapValues { first in
                var (reached, next) = (first, Array(first))
                while let file = next.popLast() {
                    for other in named[file] ?? [] where reached.insert(other).inserted { next.append(other) }
                }
                return reached
            }
            for (file, others) in reached {
                let circle = others.filter { reached[$0]?.contains(file) == true }
                #expect(circle.count <= 5, "\(circle.sorted())")
            }
        }
    }

    @Test func eachFolderNamesTypesOfItsFloorAndThoseBelow() throws {
        for (name, floors) in try Self.floors() {
            let module = try Module(at: "Sources/" + name)
            let homes = module.declared
            for file in module.files {
                let floor = floors.firstIndex(of: file.folder) ?? 0
                let above = Set(floors[(floor + 1)...])
                let named = file.named.filter { above.contains(homes[$0]?.folder ?? "") }.sorted()
                #expect(named == [], "\(file.path) names types of a floor above")
            }
        }
    }
}

/// The Swift files of a module.
private struct Module {
    /// A file, without its comments and texts.
    struct File {
        let path: String
        /// The folder within the module; `.` for a file beside the folders.
        let folder: String
        let code: String

        /// The capitalized names in the code.
        var named: Set<String> { Set(code.matches(of: /\b[A-Z]\w*/).map { String($0.0) }) }
    }

    let files: [File]

    /// Reads the files in the folder `path`.
    init(at path: String) throws {
        files = try Page.all(in: path).filter { $0.path.hasSuffix(".swift") }.map { page in
            let parts = page.path.dropFirst(path.count + 1).split(separator: "/")
            let code = page.text.replacing(/"""(?s:.*?)"""/, with: "").replacing(/"(?:\\.|[^"\\\n])*"/, with: "")
                .replacing(/\/\/.*/, with: "")
            return File(path: page.path, folder: parts.count > 1 ? String(parts[0]) : ".", code: code)
        }
    }

    /// The file that declares each type outside other types.
    var declared: [String: File] {
        var homes: [String: File] = [:]
        for file in files {
            let names = file.code.matches(
                of:
                    /(?m:^)(?:(?:public|package|private|fileprivate|final|indirect|@\w+|nonisolated) )*(?:struct|class|enum|actor|protocol) ([A-Z]\w*)/
            )
            for name in names { homes[String(name.1)] = file }
        }
        return homes
    }
}
