import AvatarStoreTesting
import Foundation
import Testing

/// The commands in a home directory where parts of the store were lost.
@Suite(.timeLimit(.minutes(3))) struct LostIndexCommandTests {
    /// The default places are used: caches and data lie apart.
    private static let home = ["AVATARS_STORE": ""]
    private static let data = ".local/share/avatars"
    private static let caches = ".cache/avatars"

    /// A workplace with a store of three images and a document in the default places, its backup `copy`, and the backup
    /// `other` of another store.
    private func withHome(_ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        try await withImages { origin in
            try workplace.write("list.txt", origin.list(3))
            try workplace.write("me.png", SampleImage.identicon(for: "me"))
            let sync = ["sync", "list.txt", "--allow-private-network"]
            try await run(sync, in: workplace).requireSuccess()
            try await run(["save", "me.png", "--name", "me"], in: workplace).requireSuccess()
            try await run(["backup", "copy"], in: workplace).requireSuccess()
            try await workplace.run("save", "me.png", "--name", "me", "--store", "another").requireSuccess()
            try await workplace.run("backup", "other", "--store", "another").requireSuccess()
            try await body(workplace)
        }
    }

    private func run(_ arguments: [String], in workplace: Workplace) async throws -> Run {
        try await workplace.start(arguments, environment: Self.home).end()
    }

    /// Every path below the home directory.
    private func tree(_ workplace: Workplace) throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: workplace.path))
    }

    private func remove(_ path: String, in workplace: Workplace) throws {
        try FileManager.default.removeItem(atPath: workplace.path(path))
    }

    @Test func restoreTakesOverTheCachesThatAreLeft() async throws {
        try await withHome { workplace in
            // An image that the backup does not know.
            try await run(["save", "me.png", "--name", "later", "--class", "caches"], in: workplace).requireSuccess()
            try remove(Self.data, in: workplace)

            let restored = try await run(["restore", "copy"], in: workplace)

            #expect(restored.status == 0, "\(restored.messages)")
            #expect(restored.text.hasPrefix("Restored 4 entries, 4 files ("))
            let verified = try await run(["verify"], in: workplace)
            #expect(verified.status == 0, "\(verified.text)")
            #expect(try await run(["get", "name:me"], in: workplace).bytes == SampleImage.identicon(for: "me"))
        }
    }

    @Test func commandsChangeNothingWhereOnlyTheCachesAreLeft_andSayWhatToDo() async throws {
        try await withHome { workplace in
            try remove(Self.data, in: workplace)
            let before = try tree(workplace)

            for arguments in [
                ["verify", "--repair"], ["save", "me.png", "--name", "me"], ["list"], ["config", "budget", "1GB"],
            ] {
                let run = try await run(arguments, in: workplace)
                #expect(run.status == 2, "\(arguments)")
                #expect(run.messages.contains("`avatars restore BACKUP`"), "\(arguments): \(run.messages)")
                #expect(run.messages.contains("move \"\(workplace.path(Self.caches))\" away"), "\(run.messages)")
                #expect(try tree(workplace) == before, "\(arguments)")
            }
            let found = try await run(["verify"], in: workplace)
            #expect(found.status == 1 && found.text.contains("damagedIndex"))
            #expect(found.text.contains("`avatars restore BACKUP`: the documents are lost too"), "\(found.text)")
            #expect(try tree(workplace) == before)

            try FileManager.default.moveItem(atPath: workplace.path(Self.caches), toPath: workplace.path("old"))
            try await run(["save", "me.png", "--name", "me"], in: workplace).requireSuccess()
        }
    }

    @Test func aLostOrDamagedIndexNamesEachFolderToMoveAway() async throws {
        try await withHome { workplace in
            let index = "\(Self.data)/index.sqlite"
            for suffix in ["", "-wal", "-shm"]
            where FileManager.default.fileExists(atPath: workplace.path(index + suffix)) {
                try remove(index + suffix, in: workplace)
            }
            let folders = "\"\(workplace.path(Self.data))\" and \"\(workplace.path(Self.caches))\""

            let lost = try await run(["config", "budget", "1GB"], in: workplace)
            try workplace.write(index, [UInt8](repeating: 7, count: 8192))
            let damaged = try await run(["doctor", "--allow-private-network"], in: workplace)

            #expect(lost.status == 2)
            #expect(
                lost.messages.contains("move \(folders) away, then run `avatars restore BACKUP`"),
                "\(lost.messages)"
            )
            #expect(damaged.text.contains("move \(folders) away, then run `avatars restore BACKUP`"), "\(damaged.text)")
        }
    }

    @Test func restoreOfAnotherStoreLeavesTheCaches_andNamesThem() async throws {
        try await withHome { workplace in
            try remove(Self.data, in: workplace)
            let before = try tree(workplace)

            let refused = try await run(["restore", "other"], in: workplace)

            #expect(refused.status == 2)
            #expect(refused.messages.contains("belongs to another store than this backup"), "\(refused.messages)")
            #expect(refused.messages.contains("Move \"\(workplace.path(Self.caches))\" away"), "\(refused.messages)")
            #expect(try tree(workplace) == before)
            try FileManager.default.moveItem(atPath: workplace.path(Self.caches), toPath: workplace.path("old"))
            try await run(["restore", "other"], in: workplace).requireSuccess()
        }
    }

    @Test func cachesOfAnotherStoreThanTheIndexAreNamed_andStay() async throws {
        try await withHome { workplace in
            try remove(Self.data, in: workplace)
            try remove("another/caches", in: workplace)
            try FileManager.default.moveItem(atPath: workplace.path("another"), toPath: workplace.path(Self.data))
            let before = try tree(workplace)

            let refused = try await run(["trim"], in: workplace)

            #expect(refused.status == 2)
            #expect(refused.messages.contains("move \"\(workplace.path(Self.caches))\" away"), "\(refused.messages)")
            #expect(try tree(workplace) == before)
            try FileManager.default.moveItem(atPath: workplace.path(Self.caches), toPath: workplace.path("old"))
            try await run(["trim"], in: workplace).requireSuccess()
        }
    }

    @Test func readersTakeLostCachesForEmpty_andWritersMakeThemAgain() async throws {
        try await withHome { workplace in
            try remove(".cache", in: workplace)
            let before = try tree(workplace)

            let listed = try await run(["list", "--json"], in: workplace)
            #expect(listed.status == 0 && listed.lines.count == 4)
            for arguments in [["stats"], ["trim", "--dry-run"], ["changes"], ["path", "name:me"]] {
                let run = try await run(arguments, in: workplace)
                #expect(run.status == 0 && run.messages.isEmpty, "\(arguments): \(run.messages)")
            }
            let doctor = try await run(["doctor", "--allow-private-network"], in: workplace)
            #expect(doctor.text.contains("\(workplace.path(Self.caches))/caches\" is missing"), "\(doctor.text)")
            let verified = try await run(["verify", "--json"], in: workplace)
            #expect(verified.status == 1)
            #expect(try verified.object.number("faultCount") == 3)
            #expect(verified.messages.contains("/caches\" is missing"), "\(verified.messages)")
            #expect(try tree(workplace) == before)

            let sync = try await run(["sync", "list.txt", "--allow-private-network", "--json"], in: workplace)
            #expect(try sync.status == 0 && sync.object.number("fetched") == 3)
            #expect(try await run(["verify"], in: workplace).status == 0)
        }
    }

    @Test(arguments: [["-wal"], ["-shm"], ["-wal", "-shm"]])
    func restoreNamesTheLogOfAnIndexThatIsGone(suffixes: [String]) async throws {
        try await withHome { workplace in
            try remove(Self.data, in: workplace)
            try FileManager.default.createDirectory(
                atPath: workplace.path(Self.data),
                withIntermediateDirectories: true
            )
            let logs = suffixes.map { "\(Self.data)/index.sqlite\($0)" }
            for log in logs { try workplace.write(log, "the log of another index") }
            let before = try tree(workplace)

            let refused = try await run(["restore", "copy"], in: workplace)

            #expect(refused.status == 2)
            let named = logs.map { "\"\(workplace.path($0))\"" }.joined(separator: " and ")
            #expect(refused.messages.contains("Move \(named) away"), "\(refused.messages)")
            #expect(try tree(workplace) == before)
            for log in logs { try remove(log, in: workplace) }
            try await run(["restore", "copy"], in: workplace).requireSuccess()
            #expect(try await run(["verify"], in: workplace).status == 0)
        }
    }
}
