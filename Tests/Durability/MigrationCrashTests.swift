import Foundation
import ProgramRunning
import Testing

/// The real program runs `avatars migrate` on stores of earlier versions: to the end, killed, and with a failing call.
@Suite(.timeLimit(.minutes(5)))
struct MigrationCrashTests {
    /// The first version and every third one after it; all of them with `scripts/test --thorough`.
    @Test(arguments: OlderStore.versions.filter { TestMode.isThorough || $0 % 3 == 1 })
    func anOlderStoreIsUpgradedWithItsFiles(version: Int) async throws {
        let workplace = try Workplace()
        try OlderStore(version: version).make(at: workplace.path("store"))
        let seen = try OlderStore.rows(OlderStore.overview, in: workplace.path("store/index.sqlite"))

        let status = try await workplace.run("migrate", "--status", "--json").object
        #expect(status.number("schemaVersion") == version)
        try await workplace.run("migrate").requireSuccess()

        #expect(try OlderStore.rows(OlderStore.overview, in: workplace.path("store/index.sqlite")) == seen)
        try await expectUpgraded(workplace, "store", "from version \(version)")
    }

    /// The fate of one of the calls that write the index and its copy.
    enum Accident: String, CaseIterable {
        case kill = "signal=SIGKILL"
        case fullDisk = "error=ENOSPC"
    }

    @Test(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, arguments: Accident.allCases)
    func anAccidentLeavesAWholeVersionAndTheCopy(accident: Accident) async throws {
        let workplace = try Workplace()
        try OlderStore(version: 1).make(at: workplace.path("base"))
        let seen = try OlderStore.rows(OlderStore.overview, in: workplace.path("base/index.sqlite"))
        try copy("base", "counted", in: workplace)
        let whole = try await workplace.traced(["migrate", "--store", "counted"], injection: "chmod:error=EIO:when=1")
        try whole.run.requireSuccess()

        var versions: Set<String> = []
        for call in ["pwrite64", "fdatasync", "unlink"] {
            // A thread's first, second, third … call; some numbers are beyond the last call of a thread.
            let count = whole.trace.calls.count { $0.name == call && $0.paths.contains { $0.contains("index.sqlite") } }
            let step = TestMode.isThorough ? 1 : max(1, count / 2)
            for number in stride(from: 1, through: max(1, count), by: step) {
                let store = "\(call)-\(number)"
                try copy("base", store, in: workplace)
                let injection = "\(call):\(accident.rawValue):when=\(number)"
                let run = try await workplace.traced(["migrate", "--store", store], injection: injection).run
                let comment: Comment = "\(injection), exit code \(run.status): \(run.messages)"

                versions.insert(try expectWhole(workplace.path(store + "/index.sqlite"), seen, comment))
                try await workplace.run("migrate", "--store", store).requireSuccess()
                try await expectUpgraded(workplace, store, comment)
                try FileManager.default.removeItem(atPath: workplace.path(store))
            }
        }
        #expect(versions.count > 1, "\(versions)")
    }

    @Test(.enabled(Comment(rawValue: Mount.absence)) { await Mount.isPossible })
    func withoutRoomForTheCopyNothingIsChanged() async throws {
        let workplace = try Workplace()
        let disk = try await Mount(memory: "4m", at: workplace.path("disk"))
        let index = workplace.path("disk/store/index.sqlite")
        // Made elsewhere: a program that another test starts may hold what was deleted on the disk, which frees it after `fill`.
        try OlderStore(version: 1).make(at: workplace.path("made"))
        try copy("made", "disk/store", in: workplace)
        let before = try workplace.read(index)
        // Room for the shared memory of the write-ahead log, and for half of the copy.
        try disk.fill(leaving: 32_768 + before.count / 2)

        let run = try await workplace.run("migrate", "--store", "disk/store")

        #expect(run.status == 2)
        #expect(run.messages.contains("which needs up to "), "\(run.messages)")
        #expect(try workplace.read(index) == before)
        try FileManager.default.removeItem(atPath: disk.path + "/filler")
        try await workplace.run("migrate", "--store", "disk/store").requireSuccess()
        try await expectUpgraded(workplace, "disk/store", "after room was made")
    }

    // MARK: Support

    private func copy(_ store: String, _ other: String, in workplace: Workplace) throws {
        try FileManager.default.copyItem(atPath: workplace.path(store), toPath: workplace.path(other))
    }

    /// The index has exactly the schema of one version, and all rows. Unless it is the last version, its copy lies
    /// beside it.
    ///
    /// - Returns: the version.
    private func expectWhole(_ index: String, _ seen: [String], _ comment: Comment) throws -> String {
        let version = try OlderStore.rows("PRAGMA user_version", in: index)[0]
        let schema = try OlderStore.rows(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name",
            in: index
        )
        #expect(try schema == OlderStore.schema(try #require(Int(version))), comment)
        #expect(try OlderStore.rows("PRAGMA integrity_check", in: index) == ["ok"], comment)
        #expect(try OlderStore.rows(OlderStore.overview, in: index) == seen, comment)
        let copy = index + ".version-1"
        if version != "1" && version != "\(OlderStore.latest)" || FileManager.default.fileExists(atPath: copy) {
            #expect(try OlderStore.rows("PRAGMA user_version", in: copy) == ["1"], comment)
            #expect(try OlderStore.rows(OlderStore.overview, in: copy) == seen, comment)
        }
        return version
    }

    private func expectUpgraded(_ workplace: Workplace, _ store: String, _ comment: Comment) async throws {
        let index = workplace.path(store + "/index.sqlite")
        let latest = OlderStore.latest
        #expect(try OlderStore.rows("PRAGMA user_version", in: index) == ["\(latest)"], comment)
        #expect(try OlderStore.rows("PRAGMA integrity_check", in: index) == ["ok"], comment)
        #expect(try OlderStore.rows("PRAGMA foreign_key_check", in: index) == [], comment)
        let names = try FileManager.default.contentsOfDirectory(atPath: workplace.path(store))
        #expect(!names.contains { $0.contains(".version-") }, comment)
        // An opening finishes the pending work in the golden index.
        try await workplace.run("trim", "--budget", "1GB", "--store", store).requireSuccess()
        try await workplace.expectConsistent(store: store, comment)
    }
}
