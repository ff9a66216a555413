import AvatarCore
import AvatarFiles
import AvatarIndex

extension StoreWriter {
    /// Commits `changes`; the results are in their order. The images are published, or discarded if there is no room.
    ///
    /// On return everything is in the index, and documents and replaced images are on stable storage.
    ///
    /// - Throws: `ProtectionNeeded` before anything changed; an error of the index or the disk, after which the staged
    ///   images that were not published are discarded.
    func commit(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        do {
            return try publishWhatFits(changes, rules)
        } catch let error as ProtectionNeeded {
            throw error
        } catch {
            discard(changes)
            throw error
        }
    }

    /// Commits one change, and leaves nothing of its own pending.
    func commitNow(_ change: Change, _ rules: RoomRules) throws -> ChangeResult {
        let summary = try commit([change], rules)
        try settle()
        return summary.results[0]
    }

    private func discard(_ changes: [Change]) {
        for image in changes.compactMap(\.image) {
            places.files(of: image.storageClass).discard(image)
        }
    }

    /// Publishes all changes together if there is room for all of their images, else each half apart.
    private func publishWhatFits(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        do {
            return try publish(changes, rules)
        } catch let error as AvatarStoreError where error.code == .overBudget {
            guard changes.count > 1 else {
                discard(changes)
                return CommitSummary(results: [.overBudget(error)])
            }
            let middle = changes.count / 2
            return try publishWhatFits(Array(changes[..<middle]), rules)
                + publishWhatFits(Array(changes[middle...]), rules)
        }
    }

    private func publish(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var evictedCount = 0
        let placements = try reserve(changes, rules, &evictedCount)
        try moveIntoPlace(placements)
        let needsPower = placements.contains { $0?.needsDurableCommit == true }
        var retired: [PendingFile] = []
        let results = try write(needsPower ? .power : .process) { transaction in
            try zip(changes, placements).map { change, placement in
                try apply(change, placement, transaction, &retired)
            }
        }
        try unlink(retired)
        for case let placement? in placements where placement.path == nil {
            places.files(of: placement.image.storageClass).discard(placement.image)
        }
        return CommitSummary(results: results, evicted: evictedCount)
    }

    /// Step 1: room is made, and each new file has a pending row.
    private func reserve(
        _ changes: [Change],
        _ rules: RoomRules,
        _ evictedCount: inout Int
    ) throws -> [Placement?] {
        let incoming = changes.reduce(0) { $0 + ($1.image?.sizeBytes ?? 0) }
        guard incoming > 0 else { return changes.map { _ in nil } }
        try prepareRoom(for: incoming, rules)
        while true {
            var evicted: [PendingFile] = []
            let placements = try write { transaction -> [Placement?]? in
                let placements = try place(changes, transaction, &evicted)
                let incoming = placements.reduce(0) { $0 + ($1?.budgetBytes ?? 0) }
                let victims = try victims(for: incoming, rules, transaction)
                guard victims.isEmpty else {
                    evicted += try evict(victims, transaction)
                    return nil
                }
                for case let placement? in placements {
                    if let pending = placement.pending(holder: places.holder.name) {
                        try transaction.addPending(pending)
                    }
                }
                return placements
            }
            try unlink(evicted)
            if let placements { return placements }
            evictedCount += evicted.count
        }
    }

    /// Where room may get scarce: what is pending for no reason goes first, and the order of uses is brought up to date.
    private func prepareRoom(for incoming: Int, _ rules: RoomRules) throws {
        let total = try index.total(of: .caches)
        guard total.accountedBytes + incoming > rules.limits.budget else { return }
        try flushAccesses()
        if total.pendingFiles > 0 {
            try finishOwnLeftovers()
            try finishDeadHolders()
        }
    }

    /// Decides for each image whether it needs a file of its own, or one with the same bytes is there already.
    private func place(
        _ changes: [Change],
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws -> [Placement?] {
        var placements: [Placement?] = []
        var placed: [Content: Int] = [:]
        for change in changes {
            guard let image = change.image else {
                placements.append(nil)
                continue
            }
            let replaced = try transaction.state(of: change.key)?.fileID
            var placement = Placement(image: image, replaced: replaced)
            if let first = placed[placement.content] {
                if placement.isDurable { placements[first]?.isDurable = true }
            } else if let file = try sharedFile(image, transaction, &retired) {
                placement.shared = file
            } else {
                placement.path = FilePath.make(sha256: image.sha256, format: image.image.format)
                placed[placement.content] = placements.count
            }
            placements.append(placement)
        }
        return placements
    }

    /// A published file with the image's bytes that is really there.
    private func sharedFile(
        _ image: StagedImage,
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws -> FileRecord? {
        guard let file = try transaction.file(withDigest: image.sha256, in: image.storageClass) else { return nil }
        if places.stored.contains(file) { return file }
        // The row's file was purged; its entries learn of it now, and the bytes get a file of their own.
        if let gone = try transaction.retireFile(id: file.id, absence: .missing, holder: places.holder.name) {
            retired.append(gone)
        }
        return nil
    }

    /// Step 2: bytes that must survive a power loss are made durable, then each file gets its name.
    private func moveIntoPlace(_ placements: [Placement?]) throws {
        for case let placement? in placements {
            let files = places.files(of: placement.image.storageClass)
            if let shared = placement.shared, placement.needsDurableCommit {
                try files.synchronize(published: shared.path)
            }
            guard let path = placement.path else { continue }
            if placement.isDurable { try files.synchronize(placement.image) }
            try files.publish(placement.image, as: path, isDurable: placement.isDurable)
        }
    }

    /// Step 3, for one change.
    private func apply(
        _ change: Change,
        _ placement: Placement?,
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws -> ChangeResult {
        let state = try transaction.state(of: change.key)
        switch change.content {
        case .image(let image, let validation):
            guard let placement else { return .recorded }
            // Somebody promoted the entry meanwhile; what was fetched for the caches never demotes it.
            let isDemotion =
                state?.storageClass == .documents && image.storageClass == .caches
                && state?.fileID != nil && validation != nil
            if isDemotion {
                if let surplus = placement.pending(holder: places.holder.name) { retired.append(surplus) }
                return .stored(isChanged: false)
            }
            return try apply(change, image, validation, placement, state, transaction, &retired)
        case .confirmed(let validation):
            // Without the entry, or without its file, there is nothing that could have been confirmed.
            guard let state, state.fileID != nil else { return .recorded }
            try transaction.setValidation(validation, of: state.id)
            try link(change, to: state.id, transaction, hasImage: true, &retired)
        case .failed(let kind, let checked, let retryAfter):
            try applyFailure(change, kind, checked, retryAfter, state, transaction, &retired)
        case .linked:
            guard let state else { return .recorded }
            try link(change, to: state.id, transaction, hasImage: state.fileID != nil, &retired)
        }
        return .recorded
    }

    private func apply(
        _ change: Change,
        _ image: StagedImage,
        _ validation: ValidationRecord?,
        _ placement: Placement,
        _ state: EntryState?,
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws -> ChangeResult {
        let fileID = try publishedFile(image, placement, replacing: state?.fileID, transaction, &retired)
        let id =
            try state?.id
            ?? transaction.insertEntry(
                change.key,
                sourceURL: change.sourceURL,
                host: change.host,
                storageClass: image.storageClass
            )
        if state != nil, let source = change.sourceURL, let host = change.host {
            try transaction.setSource(source, host: host, of: id, key: change.key)
        }
        try transaction.setFile(fileID, storageClass: image.storageClass, of: id)
        if let validation { try transaction.setValidation(validation, of: id) }
        try link(change, to: id, transaction, hasImage: true, &retired)
        guard let old = state?.fileID, old != fileID else { return .stored(isChanged: false) }
        if let file = try transaction.retireFileIfUnused(id: old, holder: places.holder.name) { retired.append(file) }
        return .stored(isChanged: validation != nil || change.host == nil)
    }

    /// The row of the image's file: that of the equal bytes that are there already, or a new one.
    private func publishedFile(
        _ image: StagedImage,
        _ placement: Placement,
        replacing old: Int64?,
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws -> Int64 {
        // A first store is an access; a refetch is not, so the new file inherits the old one's time.
        let lastAccess = try old.flatMap { try transaction.lastAccess(ofFile: $0) } ?? accesses.nextTime()
        let pending = placement.pending(holder: places.holder.name)
        if let file = try transaction.file(withDigest: image.sha256, in: image.storageClass) {
            // Another process published the same bytes between the steps: ours are one too many.
            if let pending { retired.append(pending) }
            try transaction.touch(fileID: file.id, microseconds: lastAccess)
            return file.id
        }
        guard let pending, let path = placement.path else {
            throw AvatarStoreError(
                .busy,
                "The file that an image of \(image.sizeBytes) bytes was to share vanished meanwhile; try again.",
                failure: .storage
            )
        }
        try transaction.dropPending(pending)
        let record = FileRecord(
            id: 0,
            storageClass: image.storageClass,
            path: path,
            sizeBytes: image.sizeBytes,
            mediaType: image.image.format.mediaType,
            width: image.image.width,
            height: image.image.height
        )
        return try transaction.insertFile(record, sha256: image.sha256, lastAccessMicroseconds: lastAccess)
    }

    private func applyFailure(
        _ change: Change,
        _ kind: FailureKind,
        _ checked: Timestamp,
        _ retryAfter: Timestamp?,
        _ state: EntryState?,
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws {
        guard RetryPolicy.isKept(kind), let host = change.host else { return }
        if let retryAfter { try transaction.block(host: host, until: retryAfter) }
        let id =
            try state?.id
            ?? transaction.insertEntry(change.key, sourceURL: change.sourceURL, host: host, storageClass: .caches)
        // "Gone" is counted for itself: only the origin's own word, again and again, may remove an image.
        let goesOn = (state?.failure == .gone) == (kind == .gone)
        let count = goesOn ? (state?.failureCount ?? 0) + 1 : 1
        let wait = RetryPolicy().wait(after: kind, count: count, jitter: .random(in: 0...1))
        try transaction.setFailure(
            kind,
            count: count,
            checked: checked,
            nextCheck: max(checked.adding(seconds: wait), retryAfter ?? checked),
            of: id
        )
        if kind == .gone, let file = state?.fileID, try isRemovalConfirmed(count, transaction) {
            if let gone = try transaction.dropFile(file, of: id, holder: places.holder.name) { retired.append(gone) }
        }
        try link(change, to: id, transaction, hasImage: state?.fileID != nil, &retired)
    }

    private func isRemovalConfirmed(_ count: Int, _ transaction: IndexTransaction) throws -> Bool {
        let needed = try transaction.setting(Setting.goneConfirmations.name) ?? 0
        return needed > 0 && count >= Int(needed)
    }

    /// Links the contacts to the entry. Once it has an image, they lose the ones they had before.
    private func link(
        _ change: Change,
        to id: Int64,
        _ transaction: IndexTransaction,
        hasImage: Bool,
        _ retired: inout [PendingFile]
    ) throws {
        for contact in change.owners {
            try transaction.link(contact, to: id)
            guard hasImage else { continue }
            for other in try transaction.unlinkOtherFetchedImages(of: contact, keeping: id) {
                try removeIfUnowned(other, transaction, &retired)
            }
        }
    }

    /// An image that no contact uses any more stays until it is evicted, unless the store is set otherwise.
    private func removeIfUnowned(
        _ id: Int64,
        _ transaction: IndexTransaction,
        _ retired: inout [PendingFile]
    ) throws {
        guard try transaction.setting(Setting.keepUnowned.name) == 0, try !transaction.hasOwner(id) else { return }
        let file = try transaction.fileID(of: id)
        if let file = try transaction.removeEntry(id: id, fileID: file, holder: places.holder.name) {
            retired.append(file)
        }
    }
}

/// Bytes in a class: at most one file holds them.
private struct Content: Hashable {
    let sha256: [UInt8]
    let storageClass: StorageClass
}

/// Where one staged image goes.
private struct Placement {
    let image: StagedImage
    /// The file that the entry has now.
    let replaced: Int64?
    /// Whether a power loss must not take it: a document, or the successor of the last good copy.
    var isDurable: Bool
    /// The name it gets; `nil`: a file with the same bytes is there, or comes with the same batch.
    var path: String?
    /// The file with the same bytes.
    var shared: FileRecord?

    init(image: StagedImage, replaced: Int64?) {
        self.image = image
        self.replaced = replaced
        isDurable = replaced != nil || image.storageClass == .documents
    }

    var content: Content { Content(sha256: image.sha256, storageClass: image.storageClass) }

    /// Equal bytes under the same row replace nothing.
    var needsDurableCommit: Bool {
        isDurable && !(shared != nil && shared?.id == replaced && image.storageClass == .caches)
    }

    /// What it adds to what counts against the budget.
    var budgetBytes: Int {
        path != nil && image.storageClass == .caches ? image.sizeBytes : 0
    }

    func pending(holder: String) -> PendingFile? {
        path.map {
            PendingFile(storageClass: image.storageClass, path: $0, sizeBytes: image.sizeBytes, holder: holder)
        }
    }
}
