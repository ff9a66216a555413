import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The contract with scripts: the options and JSON fields of each command. Add a new option here, and a test of it
/// beside the other tests of its command.
@Suite(.timeLimit(.minutes(5))) struct ContractTests {
    private static let everywhere: Set<String> = ["store", "quiet", "verbose", "help", "version"]
    private static let origin: Set<String> = [
        "strict", "connections", "per-host", "timeout", "max-redirects", "low-data", "allow-private-network",
        "no-allow-private-network", "budget",
        "header-file",
        "user-agent", "ca-file",
    ]

    private static let sizes: Set<String> = ["size", "format", "square", "max-bytes", "decode-without-sandbox"]

    private static let shared: Set<String> = ["shared", "endpoint"]
    private static let options: [String: Set<String>] = [
        "sync": origin.union(shared).union([
            "json", "format", "column", "policy", "class", "all", "limit", "max-bytes", "time-limit", "host-time-limit",
            "prune", "email-source", "email-recheck", "ignore-pauses", "wait", "every", "dry-run", "progress",
            "tolerate-failures", "prune-all", "list-name", "user", "password-file", "netrc-file", "book", "full",
            "on-change", "on-change-timeout",
        ]),
        "fetch": origin.union(shared).union(["json", "policy", "class", "retry-failed"]),
        "get": origin.union(shared).union([
            "output", "policy", "class", "contact", "placeholder", "without-metadata",
        ]).union(sizes),
        "path": sizes.union(["json", "contact", "without-metadata"]),
        "save": ["json", "name", "contact", "class"],
        "list": [
            "json", "class", "state", "host", "owner", "contact", "name", "without-contact", "sort", "reverse", "limit",
            "after",
        ],
        "show": ["json", "contact"],
        "contacts": ["json", "name", "without-image", "limit", "after"],
        "remove": shared.union([
            "json", "owner", "contact", "host", "without-contact", "all", "erase", "receipt", "verify", "yes",
            "dry-run",
        ]),
        "move": ["json", "to", "dry-run"],
        "sources": ["json", "forget", "dry-run"],
        "shared": ["json", "minimum", "limit", "after", "ignored"],
        "ignore": ["json", "undo", "dry-run"],
        "trim": ["json", "budget", "dry-run", "progress"],
        "verify": shared.union(["json", "repair", "quick", "dry-run", "progress"]),
        "stats": ["json", "format"],
        "changes": ["json", "since", "follow"],
        "config": ["json", "dry-run"],
        "doctor": origin.union(["json"]),
        "migrate": ["json", "status", "dry-run", "progress"],
        "compact": ["json", "dry-run", "progress"],
        "backup": ["json", "progress"],
        "restore": ["json", "progress"],
        "export": sizes.union([
            "json", "html", "as-vcard", "mirror", "names", "delete-foreign", "dry-run", "file-mode", "class", "owner",
            "contact",
            "progress", "without-metadata",
        ]),
        "import": ["json", "class", "by-name", "dry-run", "progress"],
        "serve": origin.union(shared).union([
            "listen", "socket", "with-metadata", "sync", "sync-file", "class", "format", "column", "every", "prune",
            "token-file",
            "allow-origin",
            "libravatar", "decode-without-sandbox", "allow-host", "email-source",
            "email-recheck", "per-client", "user", "password-file", "netrc-file", "book", "full", "on-change",
            "on-change-timeout",
        ]),
    ]

    @Test func eachCommandHasItsOptionsAndNoOthers() async throws {
        let run = try await Workplace().run("--experimental-dump-help")

        let dump = try JSONDecoder().decode(Dump.self, from: Data(run.bytes))
        let commands = try #require(dump.command.subcommands).filter { $0.commandName != "help" }
        #expect(Set(commands.map(\.commandName)) == Set(Self.options.keys).union(["demo"]))
        for command in commands where command.commandName != "demo" {
            let expected = try #require(Self.options[command.commandName]).union(Self.everywhere)
            #expect(command.options == expected, "\(command.commandName)")
        }
    }

    private static let overview: Set<String> = [
        "key", "sourceURL", "localFile", "storageClass", "sizeBytes", "etag", "lastAccess", "freshUntil", "checkedAt",
        "state", "owners", "names",
    ]
    private static let image: Set<String> = [
        "key", "outcome", "stale", "stored", "localFile", "sizeBytes", "mediaType", "width", "height", "kind",
        "message",
    ]
    private static let copied: Set<String> = ["entries", "files", "bytes", "missing"]
    private static let syncFields: Set<String> = [
        "contacts", "withoutImage", "unreadable", "saved", "unlinked", "keptLeavers", "removed", "wanted", "fresh",
        "fetched",
        "notModified",
        "unstored", "changed", "failed", "skipped", "skippedBy", "pausedHosts", "overBudget", "evicted", "requests",
        "ignored", "shared",
        "bytesReceived", "seconds", "failures", "failureGroups", "hints", "duplicates", "slowedHosts", "hosts",
        "sources", "changingQueries", "queryClashes", "hook",
    ]
    private static let trimFields: Set<String> = ["evicted", "bytesFreed", "bytes", "budgetBytes", "lowWatermarkBytes"]
    private static let importFields: Set<String> = [
        "found", "stored", "replaced", "unchanged", "failed", "bytes", "failures",
    ]

    private static let mirrorFields: Set<String> = [
        "written", "bytes", "unchanged", "deleted", "missing", "blocked", "foreign", "originals", "names",
        "formerNames", "formerRendition",
    ]
    private static let ignoreFields: Set<String> = ["digests", "entries", "contacts", "files", "bytes"]
    private static let digest = String(repeating: "0", count: 64)

    /// The commands run in this order: the first makes the store, the last ones empty it.
    private static let fields: [([String], Set<String>)] = [
        (["sync", "list.txt", "--allow-private-network"], syncFields),
        (["sync", "--dry-run"], syncFields.union(["toFetch", "toRevalidate"])),
        (["save", "folder/me.png", "--name", "me"], image),
        (["fetch", "URL", "--allow-private-network"], image),
        (["path", "URL"], ["key", "localFile"]),
        (["path", "URL", "--size", "32"], ["key", "localFile", "rendition"]),
        (["list"], overview),
        (
            ["show", "URL"],
            overview.union([
                "filePresent", "sha256", "hasMetadata", "mediaType", "width", "height", "lastModified",
                "responseFields", "fetchedAt",
                "nextCheck", "failure", "failureMessage", "failureCount", "sharedWith", "evictedAfterFiles",
                "thumbHash",
                "reasons", "sources",
            ])
        ),
        (["contacts"], ["id", "name", "key", "state", "hasImage", "failure", "failureMessage", "sources"]),
        (["changes"], ["sequence", "key", "owners", "names", "sources", "kind", "digest", "time"]),
        (["move", "URL", "--to", "documents", "--dry-run"], ["moved"]),
        (["move", "URL", "--to", "documents"], ["moved"]),
        (["doctor", "--allow-private-network"], ["checks"]),
        (["verify"], ["checked", "pending", "faults", "faultCount", "repaired", "lost"]),
        (["verify", "--quick", "--repair"], ["checked", "pending", "faults", "faultCount", "repaired", "lost"]),
        (
            ["config", "budget", "1MB"],
            [
                "budget", "lowWatermark", "renditionBudget", "maxImageBytes", "maxPixels", "allowSvg", "minFree",
                "minimumFreshness",
                "maximumFreshness",
                "defaultFreshness", "maxAgeWithoutFetch", "keepUnowned", "keepNames", "keepAddresses",
                "goneConfirmations", "serveMetadata", "connections", "perHost", "allowPrivateNetwork", "userAgent",
                "caFile", "volatileQuery", "evicted",
                "bytesFreed",
            ]
        ),
        (
            ["stats"],
            [
                "entries", "files", "cachesBytes", "documentsBytes", "stagingBytes", "pendingBytes", "budgetBytes",
                "lowWatermarkBytes", "walBytes", "allocatedBytes", "states", "hosts", "sources", "oldestAccess",
                "newestAccess",
                "schemaVersion", "guard", "lastSync", "failures", "neverHad", "pausedHosts", "failingHosts",
                "renditions", "renditionBytes", "sharedTier",
            ]
        ),
        (["shared"], ["pictures", "next"]), (["shared", "--ignored"], ["ignored"]),
        (["ignore", Self.digest, "--dry-run"], ignoreFields), (["ignore", Self.digest], ignoreFields),
        (["ignore", Self.digest, "--undo", "--dry-run"], ignoreFields),
        (["ignore", Self.digest, "--undo"], ignoreFields),
        (["migrate"], ["schemaVersion", "applied", "pending"]),
        (["migrate", "--dry-run"], ["schemaVersion", "applied", "pending"]),
        (["backup", "copy"], copied), (["restore", "copy", "--store", "other"], copied.union(["lostDocuments"])),
        (["export", "out"], ["images", "bytes", "missing"]),
        (["export", "site", "--html"], ["images", "bytes", "missing", "pages", "withheld"]),
        (
            ["export", "cards", "--size", "64", "--as-vcard"],
            ["images", "bytes", "missing", "originals", "cards", "withoutCard"]
        ),
        (["export", "mirror", "--mirror", "--dry-run"], mirrorFields.union(["filesToWrite", "filesToDelete"])),
        (["export", "mirror", "--mirror"], mirrorFields),
        (["import", "folder", "--dry-run"], importFields), (["import", "folder"], importFields),
        (["trim", "--budget", "0", "--dry-run"], trimFields), (["trim", "--budget", "0"], trimFields),
        (["remove", "--all", "--dry-run"], ["rows", "files", "bytes", "erased", "sharedObjects", "receipt"]),
        (["remove", "--all"], ["rows", "files", "bytes", "erased", "sharedObjects", "receipt"]),
        (["compact", "--dry-run"], ["bytesBefore", "bytes", "bytesFreed"]),
        (["compact"], ["bytesBefore", "bytes", "bytesFreed"]),
    ]

    @Test func eachCommandHasItsFieldsAndNoOthers() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.list(1))
            try FileManager.default.createDirectory(
                atPath: workplace.path("folder"),
                withIntermediateDirectories: false
            )
            try workplace.write("folder/me.png", SampleImage.identicon(for: "me"))
            for (arguments, names) in Self.fields {
                let known = arguments.map { $0 == "URL" ? origin.url("/p/1.png") : $0 }
                let run = try await workplace.start(known + ["--json"]).end()

                #expect(run.status == 0, "\(arguments): \(run.messages)")
                #expect(try !run.objects.isEmpty, "\(arguments)")
                for object in try run.objects { #expect(object.names == names, "\(arguments)") }
            }
        }
    }

    /// The description of the commands that the parser prints for tools.
    private struct Dump: Decodable {
        let command: Command
    }

    private struct Command: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }
            let names: [Name]?
        }
        let commandName: String
        let subcommands: [Command]?
        let arguments: [Argument]?

        var options: Set<String> {
            Set((arguments ?? []).flatMap { $0.names ?? [] }.filter { $0.kind == "long" }.map(\.name))
        }
    }
}
