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
        var rules = rules
        if case .unknown = rules.protection {
            try requireProtection(for: changes, rules)
            // Whatever changes from here on: a part that is committed is not committed again.
            rules.protection = .everything
        }
        do {
            return try publishWhatFits(changes, rules)
        } catch {
            discard(changes)
            finishOwnLeftovers(after: error)
            throw error
        }
    }

    private func requireProtection(for changes: [Change], _ rules: RoomRules) throws {
        let incoming = changes.reduce(0) { $0 + ($1.cacheBytes) }
        if try index.total(of: .caches).accountedBytes + incoming > rules.limits.budget { throw ProtectionNeeded() }
    }

    /// What the failed steps left behind counts against the budget, so it does not wait for the next commit.
    private func finishOwnLeftovers(after error: any Error) {
        do {
            try finishOwnLeftovers()
        } catch {
            // The first error is the one to report. Whoever needs room next tries again.
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

    /// Publishes all changes together if there is room for all of their images, else those that fit, in their order.
    private func publishWhatFits(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        do {
            return try publish(changes, rules)
        } catch let error as AvatarStoreError where error.code == .overBudget {
            guard changes.count > 1 else {
                discard(changes)
                return CommitSummary(results: [.overBudget(error)])
            }
        }
        do {
            return try publish(changes, upTo: try roomThatCanBeMade(rules), rules)
        } catch let error as AvatarStoreError where error.code == .overBudget {
            // Another process took the room in between.
            return try publish(changes, upTo: 0, rules)
        }
    }

    /// Publishes the images that `room` bytes take, in their order, and refuses the others.
    private func publish(_ changes: [Change], upTo room: Int, _ rules: RoomRules) throws -> CommitSummary {
        var room = room
        var refusals: [Int: AvatarStoreError] = [:]
        for (number, change) in changes.enumerated() where change.cacheBytes > 0 {
            if change.cacheBytes <= room {
                room -= change.cacheBytes
            } else {
                refusals[number] = refusal(of: change.cacheBytes, rules.limits)
            }
        }
        let fitting = changes.indices.filter { refusals[$0] == nil }
        let published = try publish(fitting.map { changes[$0] }, rules)
        discard(refusals.keys.map { changes[$0] })
        var results = published.results[...]
        return CommitSummary(
            results: changes.indices.compactMap { refusals[$0].map(ChangeResult.overBudget) ?? results.popFirst() },
            evicted: published.evicted
        )
    }

    private func refusal(of bytes: Int, _ limits: Limits) -> AvatarStoreError {
        guard bytes <= limits.budget else { return .largerThanBudget(bytes, limits.budget) }
        return AvatarStoreError(
            .overBudget,
            "\(bytes) bytes do not fit into what the budget of \(limits.budget) bytes has left.",
            failure: .storage
        )
    }

    private func publish(_ changes: [Change], _ rules: RoomRules) throws -> CommitSummary {
        var evictedCount = 0
        let placements = try reserve(changes, rules, &evictedCount)
        try moveIntoPlace(placements)
        let needsPower = placements.contains { $0?.needsDurableCommit == true }
        let (results, retired) = try write(needsPower ? .power : .process) { transaction in
            var surplus = Surplus()
            let results = try zip(changes, placements).map { change, placement in
                try apply(change, placement, transaction, &surplus)
            }
            // Only now: one entry's old file may be another's new one.
            for file in surplus.files {
                let unused = try transaction.retireFileIfUnused(id: file, holder: places.holder.name)
                if let unused { surplus.pending.append(unused) }
            }
            return (results, surplus.pending)
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
        guard changes.contains(where: { $0.image != nil }) else { return changes.map { _ in nil } }
        try requireFreeSpace(rules.limits)
        try prepareRoom(for: changes.reduce(0) { $0 + $1.cacheBytes }, rules)
        while true {
            var evicted: [PendingFile] = []
            let placements = try write { transaction -> [Placement?]? in
                let placements = try place(changes, transaction, &evicted)
                let incoming = placements.reduce(0) { $0 + ($1?.budgetBytes ?? 0) }
                let replaced = Set(placements.compactMap { $0?.replaced })
                let victims = try victims(for: incoming, sparing: replaced, rules, transaction)
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
        _ surplus: inout Surplus
    ) throws -> ChangeResult {
        let state = try transaction.state(of: change.key)
        switch change.content {
        case .image(let image, let validation):
            guard let placement else { return .recorded }
            // Somebody promoted the entry meanwhile; what was fetched for the caches never demotes it.
            let isFetched = change.host != nil
            if isFetched, image.storageClass == .caches, state?.storageClass == .documents, let file = state?.fileID {
                surplus.add(placement.pending(holder: places.holder.name))
                return .stored(file: file, isChanged: false)
            }
            return try store(change, image, validation, placement, state, transaction, &surplus)
        case .moved(let image, let file):
            guard let placement, let state, state.fileID == file else {
                surplus.add(placement?.pending(holder: places.holder.name))
                return .superseded(.changedMeanwhile(change.key))
            }
            return try store(change, image, nil, placement, state, transaction, &surplus)
        case .confirmed(let validation, let file):
            // What was confirmed is that file; another that came meanwhile has validators of its own.
            guard let state, state.fileID == file else { return .recorded }
            try transaction.setValidation(validation, of: state.id)
            try link(change, to: state.id, transaction, hasImage: true, &surplus)
        case .failed(let kind, let checked, let retryAfter):
            try applyFailure(change, kind, checked, retryAfter, state, transaction, &surplus)
        case .linked:
            guard let state else { return .recorded }
            try link(change, to: state.id, transaction, hasImage: state.fileID != nil, &surplus)
        }
        return .recorded
    }

    private func store(
        _ change: Change,
        _ image: StagedImage,
        _ validation: ValidationRecord?,
        _ placement: Placement,
        _ state: EntryState?,
        _ transaction: IndexTransaction,
        _ surplus: inout Surplus
    ) throws -> ChangeResult {
        let file = try publishedFile(image, placement, replacing: state?.fileID, transaction, &surplus)
        guard let file else { return .superseded(.changedMeanwhile(change.key)) }
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
        try transaction.setFile(file, storageClass: image.storageClass, of: id)
        if let validation { try transaction.setValidation(validation, of: id) }
        try link(change, to: id, transaction, hasImage: true, &surplus)
        guard let old = state?.fileID, old != file else { return .stored(file: file, isChanged: false) }
        surplus.files.append(old)
        if case .moved = change.content { return .stored(file: file, isChanged: false) }
        return .stored(file: file, isChanged: true)
    }

    /// The row of the image's file: that of the equal bytes that are there already, or a new one. `nil` if the file that
    /// it was to share went away between the steps.
    private func publishedFile(
        _ image: StagedImage,
        _ placement: Placement,
        replacing old: Int64?,
        _ transaction: IndexTransaction,
        _ surplus: inout Surplus
    ) throws -> Int64? {
        // A first store is an access; a refetch is not, so the new file inherits the old one's time.
        let lastAccess = try old.flatMap { try transaction.lastAccess(ofFile: $0) } ?? accesses.nextTime()
        let pending = placement.pending(holder: places.holder.name)
        if let file = try transaction.file(withDigest: image.sha256, in: image.storageClass) {
            // Another process published the same bytes between the steps: ours are one too many.
            surplus.add(pending)
            try transaction.touch(fileID: file.id, microseconds: lastAccess)
            return file.id
        }
        guard let pending, let path = placement.path else { return nil }
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
        _ surplus: inout Surplus
    ) throws {
        if let state { try link(change, to: state.id, transaction, hasImage: state.fileID != nil, &surplus) }
        guard RetryPolicy.isKept(kind), let host = change.host else { return }
        if let retryAfter { try transaction.block(host: host, until: retryAfter) }
        let count = RetryPolicy.count(of: kind, at: checked, after: state.flatMap(PastFailure.init))
        let wait = RetryPolicy().wait(after: kind, count: count, jitter: .random(in: 0...1))
        let id =
            try state?.id
            ?? transaction.insertEntry(change.key, sourceURL: change.sourceURL, host: host, storageClass: .caches)
        try transaction.setFailure(
            kind,
            count: count,
            checked: checked,
            nextCheck: max(checked.adding(seconds: wait), retryAfter ?? checked),
            of: id
        )
        if state == nil { try link(change, to: id, transaction, hasImage: false, &surplus) }
        guard kind == .gone, let file = state?.fileID, try isRemovalConfirmed(count, transaction) else { return }
        try transaction.dropFile(of: id)
        surplus.files.append(file)
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
        _ surplus: inout Surplus
    ) throws {
        for contact in change.owners {
            try transaction.link(contact, to: id)
            guard hasImage else { continue }
            for other in try transaction.unlinkOtherFetchedImages(of: contact, keeping: id) {
                try removeIfUnowned(other, transaction, &surplus)
            }
        }
    }

    /// An image that no contact uses any more stays until it is evicted, unless the store is set otherwise.
    private func removeIfUnowned(_ id: Int64, _ transaction: IndexTransaction, _ surplus: inout Surplus) throws {
        guard try transaction.setting(Setting.keepUnowned.name) == 0, try !transaction.hasOwner(id) else { return }
        if let file = try transaction.fileID(of: id) { surplus.files.append(file) }
        try transaction.removeEntry(id: id)
    }
}

/// What a transaction leaves over, to be retired at its end and unlinked after it.
private struct Surplus {
    /// Files that an entry no longer uses; others may.
    var files: [Int64] = []
    /// Files that exist and are not published.
    var pending: [PendingFile] = []

    mutating func add(_ file: PendingFile?) {
        if let file { pending.append(file) }
    }
}

extension PastFailure {
    fileprivate init?(_ state: EntryState) {
        guard let kind = state.failure, let checked = state.checked else { return nil }
        self.init(kind: kind, count: state.failureCount, checked: checked)
    }
}

extension AvatarStoreError {
    fileprivate static func changedMeanwhile(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(.busy, "\(key) was changed by somebody else at the same moment; try again.", failure: .storage)
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
