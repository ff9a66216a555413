import AvatarCore
import AvatarFiles
import AvatarIndex
package import AvatarReports
import AvatarWriter

/// Compares index and files, one of the 256 folders at a time: first each row with its file, then each file with the
/// rows.
///
/// Other processes may be at work meanwhile. A published name is never used again, and a file is unlinked only after
/// its row is gone. So each finding is checked once more: a fault is a row that still exists after its file was
/// missing, or a file that still exists after no row named it.
package actor StoreVerifier {
    /// How closely a verification looks.
    package enum Depth: Equatable {
        /// All that a power loss may have changed: names, lengths, and the bytes of files with a row id above the durable
        /// point. Documents among them too: a disk may have said that it had written them and have lied.
        case afterPowerLoss(lastDurableFile: Int64)
        /// Names and lengths, the database and the totals.
        case quick
        /// All that `quick` does, and the bytes of all files.
        case full

        /// Whether the database and the totals are checked.
        var includesIndex: Bool {
            switch self {
            case .afterPowerLoss: false
            case .quick, .full: true
            }
        }

        /// Whether the bytes of `file` are compared with its digest.
        func comparesBytes(of file: FileRecord) -> Bool {
            switch self {
            case .afterPowerLoss(let lastDurableFile): file.id > lastDurableFile
            case .quick: false
            case .full: true
            }
        }
    }

    private let index: AvatarIndex
    private let roots: StoredRoots
    private let staging: StagingLeftovers
    /// Repairs the faults; `nil`: they are only reported.
    private let writer: StoreWriter?
    private let depth: Depth
    private let clock: any WallClock
    private let progress: ProgressHandler
    private var report = VerificationReport()
    /// The number of files at the start, for the progress.
    private var fileCount = 0
    private var foldersSearched = 0
    /// Findings that are not repaired and reported yet.
    private var found: [Finding] = []
    /// Whether files hold metadata that the index did not know of, by row id; not recorded yet.
    private var looked: [Int64: Bool] = [:]
    /// Published paths outside the folder of their digest.
    private var strayPaths: [StorageClass: Set<String>] = [:]

    /// Its own thread, because reading files blocks for long.
    private let thread = StoreThread(label: "avatar-store.verifier")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    /// The number of findings repaired in one transaction.
    private static let batchSize = 128

    init(
        index: AvatarIndex,
        roots: StoredRoots,
        staging: StagingLeftovers,
        writer: StoreWriter?,
        depth: Depth,
        clock: any WallClock,
        progress: @escaping ProgressHandler
    ) {
        (self.index, self.roots, self.staging, self.writer) = (index, roots, staging, writer)
        (self.depth, self.clock, self.progress) = (depth, clock, progress)
    }

    /// - Throws: `damagedIndex` before any file is looked at; another error of the index or the disk;
    ///   `CancellationError`.
    package func run() async throws -> VerificationReport {
        if depth.includesIndex {
            guard try await checkNumbers() else { return report }
            try checkIndex()
            try await checkWords()
        }
        try await lookAtUnfinishedWork()
        fileCount = try StorageClass.allCases.reduce(0) { $0 + (try index.total(of: $1).files) }
        for storageClass in StorageClass.allCases { try await checkRows(of: storageClass) }
        for storageClass in StorageClass.allCases { try await searchOrphans(in: storageClass) }
        try await settle()
        if depth.includesIndex {
            for storageClass in StorageClass.allCases where try !index.isTotalRight(of: storageClass) {
                found.append(.total(storageClass))
            }
            try await settle()
        }
        return report
    }

    /// - Throws: `damagedIndex` if SQLite finds the database damaged.
    private func checkIndex() throws {
        progress(WorkProgress(.checkingIndex, .files))
        if let damage = try index.damage(isQuick: depth == .quick) {
            throw AvatarStoreError(.damagedIndex, "The index is damaged: \(damage).")
        }
    }

    /// Compares the words by which searches find contacts with their names, and repairs them.
    private func checkWords() async throws {
        let wrong = try index.wrongWords()
        guard wrong.missing + wrong.strays > 0 else { return }
        try await writer?.repairWords()
        let detail = "contact_word lacks \(wrong.missing) rows and has \(wrong.strays) that no name has"
        report.add(VerificationFault(.wrongWords, path: index.path, detail: detail), isRepaired: writer != nil)
    }

    /// Looks for numbers that their columns cannot have, and repairs them. It comes first: SQLite takes some of them for damage
    /// of the file, and no row with one can be read.
    ///
    /// - Returns: whether the files can be compared: there were none, or they are repaired.
    private func checkNumbers() async throws -> Bool {
        progress(WorkProgress(.checkingIndex, .files))
        let wrong = try index.wrongNumbers() + index.wrongSettings()
        guard !wrong.isEmpty else { return true }
        try await writer?.repairNumbers(at: clock.now())
        for numbers in wrong {
            let rows = numbers.rows > 1 ? " and \(numbers.rows - 1) more" : ""
            let detail = "\(numbers.column) is \(numbers.example)\(rows)"
            report.add(VerificationFault(.wrongNumber, path: index.path, detail: detail), isRepaired: writer != nil)
        }
        return writer != nil
    }

    // MARK: Unfinished work

    /// Finds staging folders, partial downloads and pending files that no live process owns.
    private func lookAtUnfinishedWork() async throws {
        try await writer?.finishDeadHolders()
        let pending = try index.pendingFiles()
        report.pending = pending.count
        for folder in try staging.abandonedFolders() { found.append(.abandonedFolder(folder)) }
        for path in try staging.partialFiles(knownTo: index) { found.append(.partialFile(path)) }
        // A repair has just finished all that it could, so the rest are faults. Otherwise the next writer finishes them.
        guard writer != nil else { return }
        for file in pending where try !staging.isAlive(file.holder) {
            found.append(.unfinished(file))
        }
    }

    // MARK: Rows

    /// Compares each row of a storage class with its file, by the first byte of the digest.
    private func checkRows(of storageClass: StorageClass) async throws {
        let strays = try index.strayFiles(of: storageClass)
        strayPaths[storageClass] = Set(strays.map(\.file.path))
        for stray in strays {
            try check(stray, among: index.files(at: stray.file.path, of: storageClass))
        }
        var next: UInt8? = .min
        while let first = next, let byte = try index.firstDigestByte(of: storageClass, from: first) {
            next = byte == .max ? nil : byte + 1
            let files = try index.files(of: storageClass, digestByte: byte)
            let paths = Dictionary(grouping: files, by: \.file.path)
            for file in files where !isStray(file.file) {
                try check(file, among: paths[file.file.path] ?? [])
            }
            try Task.checkCancellation()
            if max(found.count, looked.count) >= Self.batchSize { try await settle() }
        }
        try await settle()
    }

    private func showProgress() {
        let failed = report.faultCount + found.count
        // Files that are added meanwhile are looked at too.
        let total = max(fileCount, report.checked)
        progress(WorkProgress(.comparingFiles, .files, done: report.checked, of: total, failed: failed))
    }

    /// Whether the path lies outside the folder of its digest, so that it is checked on its own.
    private func isStray(_ file: FileRecord) -> Bool {
        strayPaths[file.storageClass]?.contains(file.path) ?? false
    }

    /// Compares one row with its file, and notes a fault if the row still exists afterwards.
    private func check(_ file: IndexedFile, among namesakes: [IndexedFile]) throws {
        report.checked += 1
        showProgress()
        guard let fault = try fault(of: file, among: namesakes) else { return try lookForMetadata(in: file) }
        guard try index.hasFile(id: file.file.id) else { return }
        found.append(.file(file, fault))
    }

    /// Finds out whether a sound file of an earlier version holds metadata, if that can be recorded.
    private func lookForMetadata(in file: IndexedFile) throws {
        guard writer != nil, depth == .full, file.hasMetadata == nil else { return }
        try roots.files(of: file.file.storageClass).withSource(at: file.file.path) { source in
            if let hasMetadata = try MetadataRemoval.hasMetadata(source) { looked[file.file.id] = hasMetadata }
        }
    }

    /// The kind of the fault; `nil` if row and file agree.
    ///
    /// - Parameter namesakes: the rows with the same path, this one included.
    private func fault(of file: IndexedFile, among namesakes: [IndexedFile]) throws -> VerificationFault.Kind? {
        guard FilePath.isPublishedName(file.file.path) else { return .outsideRoot }
        let files = roots.files(of: file.file.storageClass)
        let bytes: Int
        switch try files.look(at: file.file.path) {
        case .somethingElse: return .outsideRoot
        case .nothing: return .missing
        case .file(let count): bytes = count
        }
        if namesakes.count > 1 {
            // At most one of them can be right.
            let digest = try files.digest(of: file.file.path, isCancellable: true)
            if file.sha256 != digest { return .duplicatePath }
        }
        if bytes != file.file.sizeBytes { return .wrongSize }
        if !file.isUsed { return .orphan }
        guard depth.comparesBytes(of: file.file) else { return nil }
        guard let digest = try files.digest(of: file.file.path, isCancellable: true) else { return .missing }
        return digest == file.sha256 ? nil : .wrongDigest
    }

    // MARK: Orphans

    /// Looks for files without a row in all folders of a storage class.
    private func searchOrphans(in storageClass: StorageClass) async throws {
        let files = roots.files(of: storageClass)
        // A folder that is made later has no orphans yet.
        let folders = Set(try files.namesInRoot())
        for path in try files.pathsOutsideFolders() { try lookForRow(of: path, in: storageClass, digestByte: 0) }
        for byte in UInt8.min...UInt8.max {
            foldersSearched += 1
            progress(WorkProgress(.seekingOrphans, .folders, done: foldersSearched, of: 512, failed: report.faultCount))
            let folder = FilePath.folder(forDigestByte: byte)
            guard folders.contains(folder) else { continue }
            guard let names = try files.names(inFolder: folder) else {
                // A symbolic link or a file in the place of a folder.
                try lookForRow(of: folder, in: storageClass, digestByte: byte)
                continue
            }
            guard !names.isEmpty else { continue }
            let known = Set(try index.files(of: storageClass, digestByte: byte).map(\.file.path))
            for name in names where !known.contains(folder + "/" + name) {
                try lookForRow(of: folder + "/" + name, in: storageClass, digestByte: byte)
            }
            try Task.checkCancellation()
            if found.count >= Self.batchSize { try await settle() }
        }
    }

    /// Notes an orphan, if no row names the file and it still exists afterwards.
    private func lookForRow(of path: String, in storageClass: StorageClass, digestByte: UInt8) throws {
        guard strayPaths[storageClass]?.contains(path) != true,
            try !index.isNamed(path, in: storageClass, digestByte: digestByte),
            try roots.files(of: storageClass).look(at: path) != .nothing
        else { return }
        found.append(.orphan(path, storageClass, digestByte: digestByte))
    }

    // MARK: Findings

    /// Repairs the findings if asked to, and reports them.
    private func settle() async throws {
        try await writer?.noteMetadata(looked)
        looked = [:]
        let findings = found
        found = []
        guard !findings.isEmpty else { return }
        let faults = try findings.map(fault)
        let repaired = try await writer?.repair(findings) ?? findings.map { _ in false }
        for (fault, isRepaired) in zip(faults, repaired) { report.add(fault, isRepaired: isRepaired) }
    }

    /// The finding as the report shows it.
    private func fault(for finding: Finding) throws -> VerificationFault {
        switch finding {
        case .file(let file, let kind):
            return VerificationFault(
                kind,
                path: roots.path(of: file.file),
                key: try index.keys(usingFile: file.file.id).first
            )
        case .orphan(let path, let storageClass, _):
            return VerificationFault(.orphan, path: roots.files(of: storageClass).root.path + "/" + path)
        case .total(let storageClass):
            return VerificationFault(.wrongTotal, path: roots.files(of: storageClass).root.path)
        case .unfinished(let file):
            let root = roots.files(of: file.storageClass).root.path
            return VerificationFault(.unfinished, path: root + "/" + file.path)
        case .abandonedFolder(let folder):
            return VerificationFault(.unfinished, path: folder.path)
        case .partialFile(let path):
            return VerificationFault(.unfinished, path: path)
        }
    }
}

/// A fault, with the details that its repair needs.
enum Finding: Sendable {
    /// A row that its file contradicts.
    case file(IndexedFile, VerificationFault.Kind)
    /// A file without a row; `digestByte` belongs to its folder.
    case orphan(String, StorageClass, digestByte: UInt8)
    /// A storage class whose totals are not the sums of its files.
    case total(StorageClass)
    /// A pending file of a dead process.
    case unfinished(PendingFile)
    /// A staging folder whose holder has no lock file.
    case abandonedFolder(StagingLeftovers.Folder)
    /// The file of an interrupted download without a row.
    case partialFile(String)
}
