import AvatarFoundation
import AvatarReports
public import AvatarStore
import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarIndex

/// The result of one check of `AvatarStore.diagnose(_:)`.
public struct Diagnosis: Hashable, Sendable {
    /// The meaning of a finding.
    public enum Outcome: String, Hashable, Sendable, CaseIterable, Codable {
        /// Nothing to do.
        case good
        /// The store works, but not as well as it could, or not for long.
        case warning
        /// Syncs or reads fail because of this.
        case problem
    }

    /// The checked part, in one word: `store`, `folders`, `owners`, `disk`, `clock`, `index`, `syncs`, `hosts`, `queries`,
    /// `network`, `names`, `trust`.
    public var subject: String
    /// The meaning of the finding.
    public var outcome: Outcome
    /// The finding, as a sentence.
    public var finding: String
    /// The remedy, as a sentence; `nil` if there is nothing to do.
    public var advice: String?

    /// A finding with these values.
    init(_ subject: String, _ outcome: Outcome, _ finding: String, _ advice: String? = nil) {
        (self.subject, self.outcome, self.finding, self.advice) = (subject, outcome, finding, advice)
    }
}

extension AvatarStore {
    /// Checks a store and its surroundings: whether it opens, its folders, the owners of its files, the disk, the clock, the
    /// index, a sample of its files, the last sync, hosts that fail or are paused, the route to the internet, the names of its
    /// hosts against the address guard, and the certificates for TLS.
    ///
    /// It changes nothing. It sends one request to each of at most five hosts that failed at their last request, unless they asked
    /// for a pause. It looks up the names of at most three hosts of stored images.
    ///
    /// - Parameter configuration: the store, which need not exist, and the settings of its HTTP client.
    /// - Returns: the findings in the order of the list above; a subject may have several.
    public static func diagnose(_ configuration: Configuration) async -> [Diagnosis] {
        var configuration = configuration
        configuration.access = .readOnly
        let fileSystem = LocalFileSystem()
        let store: AvatarStore
        do {
            store = try openForReading(configuration, fileSystem: fileSystem)
            configuration = store.configuration
        } catch let error as AvatarStoreError where error.code == .noStore {
            let folders = FolderCheck(configuration.layout, fileSystem).findings
            let missing = Diagnosis("store", .problem, error.message, "`avatars sync` makes a store.")
            return [missing] + folders + [ClockCheck.finding(configuration.clock.now())]
                + (await NetworkCheck(configuration, hosts: []).findings())
        } catch {
            let remedy = Self.remedy(for: error, configuration.layout, fileSystem)
            let broken = Diagnosis("store", .problem, "The store cannot be opened: \(error)", remedy)
            return [broken] + FolderCheck(configuration.layout, fileSystem).findings
                + OwnerCheck.findings(configuration.layout, fileSystem)
                + (await NetworkCheck(configuration, hosts: []).findings())
        }
        var findings: [Diagnosis]
        var hosts: [String] = []
        var trials: [HostTrial] = []
        do {
            findings = try store.ownFindings()
            hosts = try store.someHosts(limit: 3)
            trials = try store.hostTrials(limit: mostTrials)
        } catch {
            findings = [Diagnosis("store", .problem, "The index cannot be read: \(error)", "Run `avatars verify`.")]
        }
        do {
            try store.closeForReading()
        } catch {
            findings.append(Diagnosis("store", .warning, "The index could not be closed: \(error)"))
        }
        findings += await HostTrial.findings(trials, configuration)
        return findings + (await NetworkCheck(configuration, hosts: hosts).findings())
    }

    /// The most hosts that `diagnose` sends a request to.
    private static let mostTrials = 5

    /// The remedy for a damaged index; `nil` for other errors, which say it themselves.
    private static func remedy(
        for error: any Error,
        _ layout: StoreLayout,
        _ fileSystem: any FileSystem
    ) -> String? {
        guard let error = error as? AvatarStoreError, error.code == .damagedIndex,
            !error.message.contains("`avatars restore BACKUP`")
        else { return nil }
        return layout.damageRemedy(on: fileSystem)
    }

    /// The findings about the open store and its machine.
    private func ownFindings() throws -> [Diagnosis] {
        let (statistics, now) = (try statistics(), configuration.clock.now())
        let opened = Diagnosis(
            "store",
            .good,
            "The store opens: \(ReportText.count(statistics.entries, "entries")), schema version \(statistics.schemaVersion)."
        )
        let (layout, fileSystem) = (configuration.layout, parts.fileSystem)
        return [opened] + FolderCheck(layout, fileSystem).findings + OwnerCheck.findings(layout, fileSystem)
            + (try DiskCheck(layout, fileSystem, statistics, minimumFree: limits().minimumFree).findings())
            + [ClockCheck.finding(now, latest: [statistics.newestAccess, statistics.lastSync?.time])]
            + [IndexCheck.finding(statistics)] + (try missingFiles(statistics)) + SyncCheck.findings(statistics, now)
            + HostCheck.findings(try ailingHosts()) + (try clashingQueries())
    }

    /// A warning about each host whose volatile parameters tell contacts apart.
    private func clashingQueries() throws -> [Diagnosis] {
        let queries = try volatileQueries()
        let clashing = try parts.index.clashingHosts()
        return queries.filter { clashing.contains($0.host) }.map { query in
            Diagnosis(
                "queries",
                .warning,
                "A list had contacts with different URLs at \(query.host) that are one without \(query.parameters.joined(separator: ",")).",
                "These keep their whole URLs as keys, and reads by URL use whole URLs there. If a parameter tells persons apart, "
                    + "leave it out of `avatars config volatile-query`."
            )
        }
    }

    /// A warning if files are missing among those of at most 200 entries: the first ones, and as many from a random place on.
    private func missingFiles(_ statistics: StoreStatistics) throws -> [Diagnosis] {
        let places = [0, Int64.random(in: 0...Int64(statistics.entries))]
        let entries = try places.flatMap { try parts.index.fetchableEntries(after: $0, limit: 100) }
        // The two pages may overlap, and entries may share a file.
        var seen: Set<Int64> = []
        let files = entries.compactMap(\.file).filter { seen.insert($0.id).inserted }
        let missing = files.count { !isReadable($0) }
        guard missing > 0 else { return [] }
        return [
            Diagnosis(
                "files",
                .warning,
                "\(missing) of \(files.count) files that were looked at are missing, cut off or cannot be read.",
                "Run `avatars sync` with your lists: it fetches the images again. `avatars verify` names all such files."
            )
        ]
    }

    private func isReadable(_ file: FileRecord) -> Bool {
        do {
            return try parts.roots.contains(file)
        } catch {
            return false
        }
    }

    private func limits() throws -> Limits { try parts.limits() }

    /// Hosts of stored images, among the first thousand keys.
    private func someHosts(limit: Int) throws -> [String] {
        var hosts: [String] = []
        for item in try list().items where hosts.count < limit {
            guard let host = item.key.host?.name, !hosts.contains(host) else { continue }
            hosts.append(host)
        }
        return hosts
    }
}

/// The folders of a store that exist must be readable and writable.
private struct FolderCheck {
    let findings: [Diagnosis]

    init(_ layout: StoreLayout, _ fileSystem: any FileSystem) {
        if fileSystem.exists(layout.indexPath), !fileSystem.exists(layout.cachesRoot) {
            findings = [
                Diagnosis(
                    "folders",
                    .warning,
                    "The folder \"\(layout.cachesRoot)\" is missing, with all images of the storage class caches.",
                    "Run `avatars sync` with your lists: it makes the folder and fetches the images again."
                )
            ]
            return
        }
        let roots: [String] = [layout.indexDirectory, layout.cachesRoot, layout.documentsRoot]
        func allows(_ mode: Int32, _ folder: String) -> Bool { fileSystem.faccessat(AT_FDCWD, folder, mode) == 0 }
        let folders = roots.filter { allows(F_OK, $0) }
        // There is no store yet, which another check says.
        guard !folders.isEmpty else {
            findings = []
            return
        }
        // A mount may be read-only on purpose: a copy that is only served.
        let fixed = folders.filter { allows(R_OK | X_OK, $0) && !allows(W_OK, $0) && errno == EROFS }
        let refused = folders.filter { !fixed.contains($0) && !allows(R_OK | W_OK | X_OK, $0) }
        guard !refused.isEmpty || !fixed.isEmpty else {
            findings = [Diagnosis("folders", .good, "The folders of the store can be read and written.")]
            return
        }
        let readOnly =
            fixed.isEmpty
            ? []
            : [
                Diagnosis(
                    "folders",
                    .warning,
                    "The store is on a file system that is mounted read-only: it can be read and served, but not synced.",
                    "If it is to change, mount the file system for writing. The system also mounts it read-only after an error of the disk."
                )
            ]
        findings =
            readOnly
            + refused.map { folder in
                Diagnosis(
                    "folders",
                    .problem,
                    "The folder \"\(folder)\" cannot be read and written by this user.",
                    "Run the command as the owner of the folder, or change the owner."
                )
            }
    }
}

/// All files must belong to the owner of the index: a command of another user, often root, locks the owner out.
private enum OwnerCheck {
    static func findings(_ layout: StoreLayout, _ fileSystem: any FileSystem) -> [Diagnosis] {
        guard let owner = StoreOwner(of: layout, on: fileSystem) else { return [] }
        let folders = layout.ownFolders(on: fileSystem)
        let foreign = ForeignOwners(in: folders, notOf: owner.number, on: fileSystem)
        guard let first = foreign.first else {
            return [Diagnosis("owners", .good, "The files of the store belong to \(owner.name).")]
        }
        let noun = foreign.count == 1 ? "file or folder does" : "files and folders do"
        return [
            Diagnosis(
                "owners",
                .problem,
                "The store belongs to \(owner.name), but \(foreign.count) \(noun) not: \"\(first.path)\" belongs to "
                    + "\(StoreOwner(first.user).name).",
                "Run as root: `\(owner.chown(folders))`"
            )
        ]
    }
}

/// Each disk must have room for the rest of the budget, and keep `min-free`.
private struct DiskCheck {
    private let layout: StoreLayout
    private let fileSystem: any FileSystem
    private let statistics: StoreStatistics
    private let minimumFree: Int

    init(
        _ layout: StoreLayout,
        _ fileSystem: any FileSystem,
        _ statistics: StoreStatistics,
        minimumFree: Int
    ) {
        (self.layout, self.fileSystem) = (layout, fileSystem)
        (self.statistics, self.minimumFree) = (statistics, minimumFree)
    }

    /// The free bytes below which a disk counts as full: 1 MiB.
    private static let leastFree = 1 << 20

    func findings() throws -> [Diagnosis] {
        let unused = max(0, statistics.budgetBytes - statistics.cachesBytes)
        return try StorageClass.allCases.map { storageClass in
            let root = layout.root(of: storageClass)
            let free = try Directory(opening: nearestFolder(root), on: fileSystem).freeBytes()
            let text = "The disk of \"\(root)\" has \(ByteSize.text(free)) free"
            if free < minimumFree {
                return Diagnosis(
                    "disk",
                    .problem,
                    "\(text); the setting `min-free` requires \(ByteSize.limit(minimumFree)).",
                    "Free some space, or lower `avatars config min-free`."
                )
            }
            if free < Self.leastFree {
                return Diagnosis(
                    "disk",
                    .problem,
                    "\(text), so the store cannot write.",
                    "Free some space on that disk. You may delete files in \"\(layout.root(of: .caches))\"; the next sync fetches "
                        + "them again."
                )
            }
            if storageClass == .caches, free < unused {
                return Diagnosis(
                    "disk",
                    .warning,
                    "\(text); the budget allows \(ByteSize.text(unused)) more images.",
                    "Free some space, or lower `avatars config budget`."
                )
            }
            return Diagnosis("disk", .good, text + ".")
        }
    }
}

extension DiskCheck {
    /// `path`, or the nearest folder above it that exists.
    fileprivate func nearestFolder(_ path: String) -> String {
        var path = path
        while path != "/", !fileSystem.exists(path) { path = StoreLayout.parent(of: path) }
        return path
    }
}

/// The clock must not be before this program, nor before times that the store has recorded.
private enum ClockCheck {
    /// 2025-01-01 in milliseconds: the program is newer.
    private static let leastTime: Int64 = 1_735_689_600_000
    /// The seconds by which the clock may be behind a recorded time, as after a correction by a time server.
    private static let tolerance = 300

    static func finding(_ now: Timestamp, latest: [Timestamp?] = []) -> Diagnosis {
        let advice = "Set the clock; freshness and backoff depend on it."
        guard now.milliseconds >= leastTime else {
            return Diagnosis(
                "clock",
                .problem,
                "The clock shows \(now.localText), a time before this program was made.",
                advice
            )
        }
        let ahead = latest.compactMap(\.self).filter { $0.seconds(since: now) > tolerance }.max()
        if let ahead {
            return Diagnosis(
                "clock",
                .warning,
                "The clock shows \(now.localText), but the store has recorded \(ahead.localText).",
                advice
            )
        }
        return Diagnosis("clock", .good, "The clock shows \(now.localText).")
    }
}

/// The write-ahead log shrinks after each sync, unless a process keeps an old snapshot.
private enum IndexCheck {
    private static let mostLogBytes = 64 << 20

    static func finding(_ statistics: StoreStatistics) -> Diagnosis {
        let text = "The write-ahead log of the index has \(ByteSize.text(statistics.walBytes, of: mostLogBytes))"
        guard statistics.walBytes > mostLogBytes else { return Diagnosis("index", .good, text + ".") }
        return Diagnosis(
            "index",
            .warning,
            "\(text); usually it has at most \(ByteSize.limit(mostLogBytes)).",
            "A process may read an old snapshot for long. Stop it, then run `avatars compact`."
        )
    }
}

/// The last sync should be recent, have succeeded, and have found room for all its images.
private enum SyncCheck {
    private static let longestPause = 7 * 86_400

    static func findings(_ statistics: StoreStatistics, _ now: Timestamp) -> [Diagnosis] {
        guard let last = statistics.lastSync else {
            return [Diagnosis("syncs", .warning, "No sync has run yet.", "Run `avatars sync`.")]
        }
        return [ending(of: last, statistics, now)] + budget(of: last, statistics) + unread(statistics)
    }

    /// A warning for each address book that its last sync could not read.
    private static func unread(_ statistics: StoreStatistics) -> [Diagnosis] {
        statistics.sources.compactMap { source in
            source.failure.map { failure in
                Diagnosis(
                    "syncs",
                    .warning,
                    "At \(source.lastSync.localText): \(failure)",
                    "Run `avatars sync \(source.name)` again, or forget it with `avatars sources --forget`."
                )
            }
        }
    }

    /// A warning if the budget had no room for images of the last sync. The sync itself succeeds, so its exit code is 0.
    private static func budget(of last: LastSync, _ statistics: StoreStatistics) -> [Diagnosis] {
        guard last.overBudget > 0 else { return [] }
        let images = ReportText.count(last.wanted, "images")
        return [
            Diagnosis(
                "syncs",
                .warning,
                "The last sync had no room for \(last.overBudget) of \(images). The budget is "
                    + "\(ByteSize.limit(statistics.budgetBytes)), and caches uses \(ByteSize.text(statistics.cachesBytes, of: statistics.budgetBytes)).",
                "Set a larger budget with `avatars config budget SIZE`, leave a lower `--budget` out of the sync, or shorten the "
                    + "list. Then run the sync again."
            )
        ]
    }

    /// The end of the last sync and its failures.
    private static func ending(of last: LastSync, _ statistics: StoreStatistics, _ now: Timestamp) -> Diagnosis {
        let counts = "\(last.wanted) wanted, \(last.failed) failed, \(last.skipped) waiting"
        let failures = statistics.failures.values.reduce(0, +)
        let text =
            "The last sync ended at \(last.time.localText): \(counts). Images whose last request failed: \(failures)."
        if now.seconds(since: last.time) > longestPause {
            return Diagnosis("syncs", .warning, text, "Check the timer or the service that runs `avatars sync`.")
        }
        if last.outcome == .failed {
            return Diagnosis(
                "syncs",
                .warning,
                text + " It could not run (exit code 2).",
                "Run `avatars sync` again: it says why."
            )
        }
        guard last.failed == 0, statistics.failures.isEmpty else {
            return Diagnosis(
                "syncs",
                .warning,
                text,
                "`avatars list --state failing` and `--state gone` list the images; `avatars show KEY` gives the reason."
            )
        }
        return Diagnosis("syncs", .good, text)
    }
}
