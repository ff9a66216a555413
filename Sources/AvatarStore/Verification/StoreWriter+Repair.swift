import AvatarCore
import AvatarFileSystem
import AvatarFiles
import AvatarImages
import AvatarIndex
import AvatarReports
import AvatarWriter

/// Makes index and files agree again, in small transactions beside other writers.
///
/// A file that may be the last good copy is never unlinked. A damaged document is moved to the folder `set-aside`, and
/// so is a document that does not carry what is needed to list it again. Files in `caches` can be fetched again.
extension StoreWriter {
    /// Repairs the findings.
    ///
    /// - Returns: whether each was repaired, in their order.
    func repair(_ findings: [Finding]) throws -> [Bool] {
        try repairRows(findings)
        return try findings.map { finding in
            do {
                return try repairAlone(finding)
            } catch let error as AvatarStoreError where error.underlying is SystemCallError {
                // A system call refused for one file may succeed for the next.
                return false
            }
        }
    }

    /// Repairs the numbers that their columns or settings cannot have.
    func repairNumbers(at time: Timestamp) throws {
        try write(.power) { transaction in
            try transaction.repairNumbers(at: time)
            for setting in Setting.all where try transaction.setting(setting.name).map(setting.range.contains) == false
            {
                try transaction.removeSetting(setting.name)
            }
        }
    }

    /// Makes the words by which searches find contacts those of their names, 1,024 contacts or rows in a transaction.
    func repairWords() throws {
        var contact: String? = ""
        while let last = contact {
            contact = try write { try $0.addMissingWords(after: last, limit: 1024) }
        }
        var row: WordRow? = .first
        while let last = row {
            row = try write { try $0.removeStrayWords(after: last, limit: 1024) }
        }
    }

    /// Records which files hold metadata, by their row ids.
    func noteMetadata(_ files: [Int64: Bool]) throws {
        guard !files.isEmpty else { return }
        try write { transaction in
            for (id, hasMetadata) in files { try transaction.setHasMetadata(hasMetadata, ofFile: id) }
        }
    }

    /// Takes the files from rows that they contradict, in one transaction. Entries stay, and are fetched again.
    private func repairRows(_ findings: [Finding]) throws {
        for case .file(let file, let kind) in findings where file.file.storageClass == .documents {
            if [.wrongSize, .wrongDigest, .orphan].contains(kind) {
                _ = try places.files(of: .documents).setAside(file.file.path)
            }
        }
        var retired: [PendingFile] = []
        try write(.power) { transaction in
            for case .file(let file, let kind) in findings {
                switch kind {
                case .duplicatePath, .outsideRoot:
                    try transaction.forgetFile(id: file.file.id, holder: places.holder.name)
                default:
                    let id = file.file.id
                    let pending = try transaction.retireFile(id: id, absence: .missing, holder: places.holder.name)
                    if let pending { retired.append(pending) }
                }
            }
        }
        try unlink(retired)
        try settle()
    }

    /// Repairs a finding, except rows, which `repairRows` has repaired; `false` if it cannot be repaired.
    private func repairAlone(_ finding: Finding) throws -> Bool {
        switch finding {
        case .file:
            return true
        case .orphan(let path, .documents, let digestByte):
            return try adoptOrSetAside(path, digestByte: digestByte)
        case .orphan(let path, .caches, let digestByte):
            try unlinkOrphan(path, in: .caches, digestByte: digestByte)
            return true
        case .total(let storageClass):
            try write { transaction in
                try transaction.repairAccesses()
                try transaction.recountTotal(of: storageClass)
            }
            return true
        case .abandonedFolder(let folder):
            try finishDeadHolders()
            return try !places.holderNames().contains(folder.holder)
        case .partialFile(let path):
            let name = String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
            for storageClass in StorageClass.allCases { try places.files(of: storageClass).staging.removePartial(name) }
            return true
        case .unfinished:
            return false
        }
    }

    /// Unlinks a file, unless a row names it by now.
    private func unlinkOrphan(_ path: String, in storageClass: StorageClass, digestByte: UInt8) throws {
        guard try write(.process, { try !$0.isNamed(path, in: storageClass, digestByte: digestByte) }) else { return }
        try boot.markChanged()
        try places.files(of: storageClass).unlink(path)
        if storageClass == .documents { try places.files(of: .documents).synchronizeFolders(of: [path]) }
    }

    // MARK: Documents without a row

    /// Lists a document again for the keys in its label that have no file. A document that none of them needs is an
    /// older copy, and is deleted.
    private func adoptOrSetAside(_ path: String, digestByte: UInt8) throws -> Bool {
        guard let document = try describe(path) else {
            guard try places.files(of: .documents).setAside(path) != nil else { return true }
            try unlinkOrphan(path, in: .documents, digestByte: digestByte)
            return true
        }
        try places.files(of: .documents).synchronize(published: path, sha256: document.sha256, rewriting: true)
        var replaced: [PendingFile] = []
        let isListed = try write(.power) { transaction in
            if try transaction.isNamed(path, in: .documents, digestByte: digestByte) { return true }
            return try adopt(document, in: transaction, replacing: &replaced)
        }
        try unlink(replaced)
        try settle()
        if !isListed { try unlinkOrphan(path, in: .documents, digestByte: digestByte) }
        return true
    }

    /// The content and label of a document; `nil` for a file that is damaged or not the store's.
    private func describe(_ path: String) throws -> UnlistedDocument? {
        let files = places.stored.documents
        guard FilePath.isPublishedName(path), try files.look(at: path) != .somethingElse,
            let label = try files.label(of: path), let digest = try files.digest(of: path),
            FilePath.matches(path, sha256: digest)
        else { return nil }
        // It was within the limits when it was stored.
        let inspector = ImageInspector(maximumPixels: .max, allowsSVG: true)
        return try files.withSource(at: path) { source in
            do {
                let image = try inspector.inspect(source)
                let record = FileRecord(unlisted: path, in: .documents, source.byteCount, image)
                return UnlistedDocument(record: record, sha256: digest, hasMetadata: image.hasMetadata, label: label)
            } catch is ImageRejection {
                return nil
            }
        } ?? nil
    }

    /// Lists the document for the entries that it can serve.
    ///
    /// - Parameter replaced: receives damaged files that the document replaces, to be unlinked after the commit.
    /// - Returns: whether a row names the document's path now.
    private func adopt(
        _ document: UnlistedDocument,
        in transaction: IndexTransaction,
        replacing replaced: inout [PendingFile]
    ) throws -> Bool {
        let keys = document.label.keys.map(AvatarKey.init(stored:))
        let takers = try keys.map { ($0, try transaction.state(of: $0)) }.filter { $0.1?.fileID == nil }
        let published = try transaction.file(withDigest: document.sha256, in: .documents)
        let isSound = try published.map { try places.stored.documents.digest(of: $0.path) == document.sha256 } ?? true
        guard !takers.isEmpty || !isSound else { return false }
        let file: Int64
        if let published, isSound {
            file = published.id
        } else if let published {
            _ = try places.files(of: .documents).setAside(published.path)
            let healed = try transaction.insertFile(
                document.record,
                sha256: document.sha256,
                hasMetadata: document.hasMetadata,
                lastAccessMicroseconds: accesses.nextTime(),
                inPlaceOf: published.id,
                holder: places.holder.name
            )
            file = healed.id
            replaced += [healed.retired].compactMap(\.self)
        } else {
            file = try transaction.insertFile(
                document.record,
                sha256: document.sha256,
                hasMetadata: document.hasMetadata,
                lastAccessMicroseconds: accesses.nextTime()
            )
        }
        for (key, state) in takers {
            let id = try state?.id ?? insertEntry(key, from: document.label.originURL, transaction)
            try transaction.setFile(file, storageClass: .documents, of: id)
            // No list brings this link back.
            if let contact = key.contactOfSavedImage { _ = try transaction.linkAmongOthers(contact, to: id) }
        }
        return file != published?.id
    }

    /// Creates an entry for a document that the index did not know. Its freshness is lost, so it is due at once.
    private func insertEntry(
        _ key: AvatarKey,
        from originURL: String?,
        _ transaction: IndexTransaction
    ) throws -> Int64 {
        let source = key.isOwnImage ? nil : key.url ?? originURL
        let host = source.flatMap { AvatarKey(stored: $0).host?.description }
        let id = try transaction.insertEntry(
            key,
            sourceURL: host == nil ? nil : source,
            host: host,
            storageClass: .documents
        )
        if host != nil {
            var validation = ValidationRecord()
            validation.nextCheck = Timestamp(milliseconds: 0)
            try transaction.setValidation(validation, of: id)
        }
        return id
    }
}

/// A sound document of the store that no row names.
private struct UnlistedDocument {
    let record: FileRecord
    let sha256: [UInt8]
    let hasMetadata: Bool
    let label: FileLabel
}
