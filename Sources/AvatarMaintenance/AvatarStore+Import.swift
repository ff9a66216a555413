public import AvatarReports
public import AvatarStore
public import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarFoundation
import AvatarWriter

/// The result of an import, or of its preview.
public struct ImportReport: Hashable, Sendable {
    /// A file that was not imported, or a line of the manifest that cannot be read.
    public struct Failure: Hashable, Sendable {
        /// The name in the folder; `nil` for a line of the manifest.
        public var file: String?
        /// The reason.
        public var kind: FailureKind
        /// The reason as a sentence.
        public var message: String
    }

    /// The most failures that `failures` lists.
    package static let largestFailureCount = 1000

    /// The files and lines looked at: `found = stored + replaced + unchanged + failed`.
    public var found = 0
    /// The images that are new.
    public var stored = 0
    /// The images that replaced another under the same key.
    public var replaced = 0
    /// The images that the store had already.
    public var unchanged = 0
    /// The files that were not imported.
    public var failed = 0
    /// The bytes of the new and replacing images.
    public var bytes = 0
    /// The first 1,000 failures.
    public private(set) var failures: [Failure] = []

    mutating func add(_ failure: Failure) {
        failed += 1
        if failures.count < Self.largestFailureCount { failures.append(failure) }
    }
}

extension ImportReport: CustomStringConvertible {
    /// The counts that are not 0, on one line; with failures, a second line with their kinds and the first message. For
    /// logs: the text may change between versions.
    public var description: String {
        let counts = ReportText.counts([
            (stored, "new"), (replaced, "replaced"), (unchanged, "unchanged"), (failed, "failed"),
        ])
        return "\(ReportText.count(found, "images found")) (\(counts)), \(ReportText.count(bytes, "bytes stored"))"
            + ReportText.failures(failures.map { ($0.kind, $0.message) })
    }
}

/// The meaning of the names of imported files.
public enum ImportedNames: String, Hashable, Sendable, CaseIterable {
    /// The file `Ada.png` is the own image `name:Ada`.
    case image
    /// The file `12345.jpg` is the image of the contact 12345, as `AvatarStore.save(_:forContact:in:)` stores it.
    case contact
}

extension AvatarStore {
    /// Imports the images of a folder into the store.
    ///
    /// A file is stored as your own image under its name without the extension: `Ada.png` becomes `name:Ada`, or the image of the
    /// contact `Ada` if `names` says so. A file
    /// named in `manifest.jsonl` gets the key, the storage class and the contacts that it had when
    /// `exportImages(_:to:as:withCards:withoutMetadata:progress:)` wrote it. An image with a URL is due for a check at once, because its
    /// origin may have changed it since; if the store has an image for that URL, that one stays.
    ///
    /// Each image is checked by its bytes. A file that is not an image is reported and left out, as are folders, symbolic
    /// links, ignored images and names that lead out of the folder. Names that begin with a dot, and the pages and cards of
    /// an export, are skipped. Nothing in the folder is changed. On return the images are in the index and on disk;
    /// documents are on stable storage.
    ///
    /// - Parameter directory: an absolute path.
    /// - Parameter storageClass: where to store all images. Default: as the manifest says, else `documents`.
    /// - Parameter names: the meaning of the names of files that no manifest names. Default: `image`.
    /// - Parameter progress: called after each file.
    /// - Returns: the images stored, and the files left out.
    /// - Throws: `readOnly` in a store that is open for reading only; `unreadableList` for a manifest that is not a
    ///   file or larger than 1 GiB; an error of the folder, the index or the disk; `CancellationError` if the task is
    ///   cancelled. Images stored so far stay, and another import goes on from there.
    public func importImages(
        from directory: String,
        in storageClass: StorageClass? = nil,
        named names: ImportedNames = .image,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ImportReport {
        _ = try requireWritable()
        return try await ImageImport(
            of: directory,
            into: parts,
            as: storageClass,
            named: names,
            isPreview: false,
            progress: progress
        ).run()
    }

    /// The report that `importImages(from:in:named:progress:)` would return. Changes nothing, and does not check for room;
    /// possible in a store that is open for reading only.
    ///
    /// - Throws: `unreadableList` for a manifest that is not a file or larger than 1 GiB; an error of the folder or the
    ///   index; `CancellationError` if the task is cancelled.
    public func importPreview(
        from directory: String,
        in storageClass: StorageClass? = nil,
        named names: ImportedNames = .image,
        progress: @escaping ProgressHandler = { _ in }
    ) async throws -> ImportReport {
        try await ImageImport(
            of: directory,
            into: parts,
            as: storageClass,
            named: names,
            isPreview: true,
            progress: progress
        ).run()
    }
}

/// One import: first the files that the manifest names, then all others in the folder.
private actor ImageImport {
    private let parts: StoreParts
    private let directory: String
    /// The storage class for all images; `nil`: as the manifest says.
    private let storageClass: StorageClass?
    private let names: ImportedNames
    /// Whether nothing is stored.
    private let isPreview: Bool
    private let progress: ProgressHandler
    private let intake: ImageIntake
    private var report = ImportReport()
    /// The file that each key was imported from.
    private var files: [AvatarKey: String] = [:]

    /// Its own thread, because reading blocks for long.
    private let thread = StoreThread(label: "avatar-store.import")

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    init(
        of directory: String,
        into parts: StoreParts,
        as storageClass: StorageClass?,
        named names: ImportedNames,
        isPreview: Bool,
        progress: @escaping ProgressHandler
    ) throws {
        (self.parts, self.directory, self.storageClass) = (parts, directory, storageClass)
        (self.names, self.isPreview, self.progress) = (names, isPreview, progress)
        intake = parts.intake(try parts.limits())
    }

    /// Imports all files; the report counts what was done.
    func run() async throws -> ImportReport {
        let folder = try ImageFolder(reading: directory)
        let manifest = try ImageManifest.lines(of: folder)
        // The manifest of a mirror without files has a line that names none.
        let lines = (manifest ?? []).filter { $0.entry?.file != "" || $0.entry?.names == nil }
        var listed = Set(lines.compactMap(\.entry?.file))
        // An export writes pages for people, or cards, beside its manifest.
        if manifest != nil {
            listed.formUnion([
                ImageManifest.firstPageName, ImageManifest.pageFolderName, ImageManifest.cardsName,
            ])
        }
        let others = try folder.names().filter {
            !$0.hasPrefix(".") && $0 != ImageManifest.name && !listed.contains($0) && !folder.isFolder($0)
        }
        let total = lines.count + others.count
        for line in lines {
            try await take(line, from: folder)
            show(of: total)
        }
        for name in others {
            try await take(ImageManifest.Entry(file: name), from: folder)
            show(of: total)
        }
        return report
    }

    private func show(of total: Int) {
        let (done, failed, bytes) = (report.found, report.failed, report.bytes)
        progress(WorkProgress(.importing, .files, done: done, of: total, failed: failed, bytes: bytes))
    }

    private func take(_ line: ImageManifest.Line, from folder: ImageFolder) async throws {
        guard let entry = line.entry else {
            report.found += 1
            let message = "Line \(line.number) of \(ImageManifest.name) must be a JSON object with a \"file\"."
            return report.add(.init(file: nil, kind: .badRecord, message: message))
        }
        try await take(entry, from: folder)
    }

    private func take(_ entry: ImageManifest.Entry, from folder: ImageFolder) async throws {
        try Task.checkCancellation()
        report.found += 1
        do {
            let image = try ImportedImage(entry, in: folder, within: intake.limits, as: storageClass, named: names)
            try await store(image)
        } catch let error as AvatarStoreError where Self.concernsOneFile(error) {
            report.add(
                .init(file: entry.file, kind: error.failure ?? .badRecord, message: "\(entry.file): \(error.message)")
            )
        }
    }

    /// Whether an error is about one file, so that the import goes on.
    private static func concernsOneFile(_ error: AvatarStoreError) -> Bool {
        [.imageRefused, .invalidKey, .unsupportedURL, .overBudget].contains(error.code)
    }

    /// Stores one image, unless the store has it already.
    private func store(_ image: ImportedImage) async throws {
        if let other = files[image.key] {
            throw AvatarStoreError(.invalidKey, "\(other) has the same key, \(image.key).", failure: .badRecord)
        }
        let isChosen = image.key.isOwnImage && !image.key.isContactPhoto
        if !isChosen, try parts.index.isIgnored(image.sha256) {
            throw AvatarStoreError.ignoredImage(image.key)
        }
        let present = try parts.index.entry(for: image.key)
        _ = try intake.inspect(ByteArraySource(image.bytes))
        // A file that is refused leaves its key to another one.
        files[image.key] = image.file
        let isStored = try present?.file.map(parts.roots.contains) ?? false
        // A stored image of a URL came from its origin, which is worth more than the copy in the folder.
        let isDamaged = try isStored && present?.sha256 == image.sha256 && present.map(isDamaged) == true
        if isStored, !isDamaged, present?.sha256 == image.sha256 || image.sourceURL != nil {
            report.unchanged += 1
            return
        }
        if !isPreview { try await commit(image) }
        if present?.file != nil { report.replaced += 1 } else { report.stored += 1 }
        report.bytes += image.bytes.count
    }

    /// Whether the stored file's bytes differ from the index.
    private func isDamaged(_ entry: AvatarEntry) throws -> Bool {
        guard let file = entry.file else { return false }
        return try parts.roots.files(of: file.storageClass).digest(of: file.path) != entry.sha256
    }

    /// Stages and commits one image.
    private func commit(_ image: ImportedImage) async throws {
        try await parts.commit(
            image.bytes,
            for: image.key,
            from: image.sourceURL,
            host: image.host,
            validation: image.sourceURL == nil ? nil : .dueAt(parts.clock.now()),
            owners: image.owners,
            in: image.storageClass,
            checkedBy: intake
        )
    }
}

/// A file of the folder, with the key and place it is to get.
private struct ImportedImage {
    /// The name in the folder.
    let file: String
    /// The key in the manifest, else one made from the name.
    let key: AvatarKey
    /// The URL to fetch it from later; `nil` for an own image.
    let sourceURL: String?
    let host: String?
    let storageClass: StorageClass
    let owners: [String]
    let bytes: [UInt8]
    let sha256: [UInt8]

    init(
        _ entry: ImageManifest.Entry,
        in folder: ImageFolder,
        within limits: Limits,
        as storageClass: StorageClass?,
        named names: ImportedNames
    ) throws {
        file = entry.file
        bytes = try Self.read(entry.file, in: folder, limit: limits.maximumImageBytes)
        sha256 = ContentDigest.sha256(bytes)
        let name = ImageFileName.imageName(ofFile: entry.file)
        let isOfContact = entry.key == nil && names == .contact
        key =
            try entry.key.map { try AvatarKey(parsing: $0) }
            ?? (isOfContact ? AvatarKey(savedForContact: name) : AvatarKey(name: name))
        owners = isOfContact ? [name] : entry.owners ?? []
        for owner in owners { _ = try AvatarKey(contact: owner) }
        self.storageClass = storageClass ?? entry.storageClass.flatMap(StorageClass.init(rawValue:)) ?? .documents
        guard !key.isOwnImage else {
            (sourceURL, host) = (nil, nil)
            return
        }
        let url = try AvatarKey(url: entry.sourceURL ?? key.rawValue)
        (sourceURL, host) = (url.rawValue, url.host?.description)
        // Only the origin decides about the image of a URL, so a changed file is refused.
        guard entry.sha256 == Hexadecimal.text(sha256) else {
            throw AvatarStoreError(
                .imageRefused,
                "its SHA-256 must be the one in the manifest. To import it as your own image, remove its line there.",
                failure: .badRecord
            )
        }
    }

    /// The bytes of a file in the folder.
    ///
    /// - Throws: `imageRefused` if it is not a plain file, or larger than `limit` bytes.
    private static func read(_ name: String, in folder: ImageFolder, limit: Int) throws -> [UInt8] {
        guard ImageFolder.isPlain(name) else { throw refusal("the name must not lead out of the folder.") }
        switch try folder.read(name, limit: limit) {
        case .file(let bytes): return bytes
        case .nothing where name.contains("\u{FFFD}"): throw refusal("its name must be UTF-8. Rename it.")
        case .nothing: throw refusal("the file does not exist.")
        case .somethingElse: throw refusal("it is a folder, a link or something else that is not a file.", .notImage)
        case .tooLarge:
            throw refusal(
                "it is larger than \(ByteSize.limit(limit)), the limit of the setting `max-image-bytes`.",
                .tooLarge
            )
        }
    }

    private static func refusal(_ message: String, _ kind: FailureKind = .badRecord) -> AvatarStoreError {
        AvatarStoreError(.imageRefused, message, failure: kind)
    }
}

extension ValidationRecord {
    /// The validation of bytes that may not be the origin's: due at once, without a validator.
    fileprivate static func dueAt(_ now: Timestamp) -> ValidationRecord {
        var record = ValidationRecord()
        record.fetched = now
        record.checked = now
        record.freshUntil = now
        record.nextCheck = now
        return record
    }
}
