import AvatarCore
import AvatarFiles
import AvatarIndex

/// Step 3 of publishing: the rows of changes whose files are in place, in one transaction.
///
/// ```
/// apply ─► link contacts, or not any more ─► the former file is unused ─► finish: pending rows for files without a use
///    └─► rows of file and entry
/// ```
///
/// The links between contacts and images are in `Publication+Links.swift`.
struct Publication {
    let transaction: IndexTransaction
    let places: StorePlaces
    private let accesses: AccessRecorder
    /// Whether nothing was committed since step 1, so that what it found still holds, except for changes of this
    /// transaction.
    private let seesStep1: Bool
    /// Whether all files are on stable storage, and the commit will be: an image may go because another one replaces it.
    let isDurable: Bool
    /// Row ids of files that an entry no longer uses; other entries may.
    private var unused: [Int64] = []
    /// Files that exist without being published, each with a pending row of its own.
    private var surplus: [PendingFile] = []
    /// The paths of the new files that were published. The other files of the batch are surplus.
    private var published: Set<String> = []

    init(
        _ transaction: IndexTransaction,
        _ places: StorePlaces,
        _ accesses: AccessRecorder,
        since step1: IndexMoment?,
        isDurable: Bool
    ) throws {
        (self.transaction, self.places, self.accesses, self.isDurable) = (transaction, places, accesses, isDurable)
        seesStep1 = try step1.map(transaction.follows) ?? false
    }

    /// Takes note that an entry no longer uses the file.
    mutating func release(_ file: Int64?) {
        if let file { unused.append(file) }
    }

    /// Retires the files without a use. The row of the batch goes, and each of its files that was not published gets a
    /// pending row of its own.
    ///
    /// - Returns: the files to be unlinked after the commit.
    mutating func finish(_ batch: PendingBatch? = nil) throws -> [PendingFile] {
        // Released at the end: one entry's old file may be another's new one.
        for file in unused {
            if let retired = try places.release(file, in: transaction) { surplus.append(retired) }
        }
        guard let batch else { return surplus }
        let rest = batch.files.filter { !published.contains($0.path) }
        try transaction.dropPending(batch, leaving: rest)
        return surplus + rest
    }

    // MARK: Changes

    /// A change, and its entry as this transaction found it.
    private struct Step {
        let change: Change
        /// The place of its image; `nil` without one.
        let placement: Placement?
        /// `nil` if the entry does not exist.
        let state: EntryState?
        /// Whether a response to a later request is stored already.
        let isOvertaken: Bool
    }

    /// Applies one change. `nil` if the file that its image was to share was removed between the steps; then nothing of the
    /// image was done.
    mutating func apply(_ change: Change, at placement: Placement?) throws -> Committed? {
        if case .rendition(let image, let source) = change.content { return try add(image, source, at: placement) }
        let state =
            if seesStep1, let placement {
                try transaction.state(of: change.key, seenAs: placement.entry)
            } else {
                try transaction.state(of: change.key)
            }
        if change.isRefresh, state == nil {
            // The entry was removed meanwhile, perhaps by an erasure: image, URL and host name must not come back.
            return change.recorded
        }
        if let note = change.hostNote, let host = change.askedHost {
            try transaction.updateHealth(of: host, note.record)
        }
        let isOvertaken = try isOvertaken(change, since: state)
        let step = Step(change: change, placement: placement, state: state, isOvertaken: isOvertaken)
        switch change.content {
        case .image(let image, let validation): return try store(image, validation, step)
        case .moved(let image, let file): return try move(image, of: file, step)
        case .confirmed(let validation, let file): return try confirm(validation, file, step)
        case .failed(let failure, let checked): try fail(failure, checked, step)
        case .linked: if let state { try link(change, to: state.id, hasImage: state.fileID != nil) }
        case .rendition: break
        }
        return change.recorded
    }

    /// Whether a response to a later request is stored already.
    ///
    /// This happens to a process that was paused for longer than others wait for its lease. The times of the requests
    /// are compared, because a response may have waited in the socket. If no process checked the entry meanwhile, no
    /// times are compared, so a clock that was set back does not reject a new image.
    private func isOvertaken(_ change: Change, since state: EntryState?) throws -> Bool {
        guard let order = change.order, let state, state.checked != order.lastCheck,
            let stored = try transaction.requestTime(of: state.id)
        else { return false }
        return stored > order.requested
    }

    /// A new image: stores it, unless it is ignored or the entry keeps the image that it has.
    private mutating func store(_ image: StagedImage, _ validation: ValidationRecord?, _ step: Step) throws
        -> Committed?
    {
        let (change, state) = (step.change, step.state)
        guard let placement = step.placement else { return change.recorded }
        if try change.isIgnored(image, in: transaction) { return try ignore(image, validation, step) }
        // If another process made the entry a document meanwhile, an image fetched for `caches` does not demote it.
        let demotes = change.host != nil && image.storageClass == .caches && state?.storageClass == .documents
        guard step.isOvertaken || demotes, let state, let file = state.fileID else {
            return try setImage(image, validation, at: placement, step)
        }
        // The file is in place already, and other entries of the batch may share it, so it gets its row and is released at
        // once.
        let unused = try publishedFile(of: image, at: placement, replacing: file)
        release(unused)
        if change.isSupplied { return .failed(.changedMeanwhile(change.key)) }
        try link(change, to: state.id, hasImage: true)
        return .keeping(file == placement.damaged ? unused ?? file : file)
    }

    /// The entry's own bytes in another storage class.
    private mutating func move(_ image: StagedImage, of file: Int64, _ step: Step) throws -> Committed? {
        guard let placement = step.placement, step.state?.fileID == file else {
            return .failed(.changedMeanwhile(step.change.key))
        }
        return try setImage(image, nil, at: placement, step)
    }

    /// Stores the image of a change in its entry, which is created if it is missing. `nil` as `apply`.
    private mutating func setImage(
        _ image: StagedImage,
        _ validation: ValidationRecord?,
        at placement: Placement,
        _ step: Step
    ) throws -> Committed? {
        let (change, state) = (step.change, step.state)
        guard let file = try publishedFile(of: image, at: placement, replacing: state?.fileID) else { return nil }
        let stored = EntryImage(image, of: change, fileID: file, validation: validation)
        let id: Int64
        if let state {
            id = state.id
            try transaction.setImage(stored, of: id, key: change.key)
        } else {
            id = try transaction.insertEntry(change.key, stored)
        }
        if placement.path == nil { try transaction.shareThumbHash(ofFile: file, with: id) }
        if change.host != nil { try places.forgetPartial(of: change.key, in: transaction) }
        try link(change, to: id, hasImage: true)
        if state != nil, state?.fileID == nil { try unlinkOthersOfWaiting(for: id, key: change.key) }
        guard let old = state?.fileID, old != file, old != placement.damaged else {
            return .stored(file: file, isChanged: false)
        }
        release(old)
        if case .moved = change.content { return .stored(file: file, isChanged: false) }
        return .stored(file: file, isChanged: true)
    }

    /// The origin confirmed the entry's file, or without a file its ignored image.
    private mutating func confirm(_ validation: ValidationRecord, _ file: Int64?, _ step: Step) throws -> Committed {
        // The entry still has the same validators if another process ignored the image meanwhile. Otherwise the origin
        // confirmed only this file; a newer file has its own validators.
        guard let state = step.state, state.isIgnored || state.fileID != nil && state.fileID == file else {
            return step.change.recorded
        }
        if !step.isOvertaken { try transaction.setValidation(validation, of: state.id) }
        try link(step.change, to: state.id, hasImage: !state.isIgnored)
        return state.isIgnored ? Committed(outcome: .ignored(isReceived: false)) : step.change.recorded
    }

    /// No image was received: stores when to try again, and whether the image counts as removed for good.
    private mutating func fail(_ failure: FetchFailure, _ checked: Timestamp, _ step: Step) throws {
        let (change, state) = (step.change, step.state)
        if let state {
            try link(change, to: state.id, hasImage: state.fileID != nil)
            if step.isOvertaken { return }
        }
        let check = FailedCheck(
            failure.kind,
            at: checked,
            after: state.flatMap(PastFailure.init),
            retryAfter: failure.retryAfter,
            goneConfirmations: Int(try transaction.requiredValue(of: .goneConfirmations)),
            jitter: .random(in: 0...1)
        )
        guard let check, let host = change.host else { return }
        let isNone = change.key.isEmailImage && failure.kind == .gone && state?.fileID == nil
        let id =
            try state?.id
            ?? transaction.insertEntry(change.key, sourceURL: change.sourceURL, host: host, storageClass: .caches)
        try transaction.setFailure(
            failure.kind,
            message: failure.lastingMessage(),
            count: check.count,
            checked: checked,
            // If a source has no image for an address, only the sync of a list with that address asks again.
            nextCheck: isNone ? nil : check.nextCheck,
            of: id
        )
        if state == nil { try link(change, to: id, hasImage: false) }
        // An ignored image needs no confirmation.
        guard check.isRemovalConfirmed || failure.kind == .gone && state?.isIgnored == true else { return }
        // An image that was evicted is now gone for good, too.
        try transaction.dropFile(of: id)
        release(state?.fileID)
    }

    /// An ignored image: the entry gets no image, but the validators of the response.
    ///
    /// Stores nothing for an image that the caller passed in, and for an embedded photo.
    private mutating func ignore(_ image: StagedImage, _ validation: ValidationRecord?, _ step: Step) throws
        -> Committed
    {
        let (change, state) = (step.change, step.state)
        let committed = Committed(outcome: .ignored(isReceived: true))
        guard let source = change.sourceURL, let host = change.host, let validation, !change.isSupplied else {
            return committed
        }
        if step.isOvertaken, let state {
            try link(change, to: state.id, hasImage: state.fileID != nil)
            return committed
        }
        if let state { try transaction.setSource(source, host: host, of: state.id, key: change.key) }
        let storageClass = image.storageClass
        let id =
            try state?.id
            ?? transaction.insertEntry(change.key, sourceURL: source, host: host, storageClass: storageClass)
        try transaction.ignoreImage(
            image.sha256,
            of: id,
            lowDataURL: change.lowDataURL,
            isLowData: change.isLowData,
            validation
        )
        try places.forgetPartial(of: change.key, in: transaction)
        release(state?.fileID)
        try link(change, to: id, hasImage: false)
        return committed
    }

    /// A rendition: adds the row of its file, and its link to the original. Does nothing without the original.
    private mutating func add(
        _ image: StagedImage,
        _ source: RenditionSource,
        at placement: Placement?
    ) throws -> Committed? {
        guard let placement, try transaction.digest(ofFile: source.file) != nil else {
            return Committed(outcome: .notStored)
        }
        guard let file = try publishedFile(of: image, at: placement, replacing: nil) else { return nil }
        try transaction.insertRendition(source.spec, of: source.file, file: file)
        // Record the use of the original last, because its eviction deletes its renditions too.
        try transaction.touch(fileID: source.file, microseconds: accesses.nextTime())
        if source.isDecoded { try transaction.forgetUndecodable(source.file) }
        // Another process may have made the rendition with other bytes. This file is not used then.
        release(file)
        if !source.thumbHash.isEmpty { try transaction.setThumbHash(source.thumbHash, ofFile: source.file) }
        return .stored(file: file, isChanged: false)
    }

    // MARK: Files

    /// The row id of the image's file: an existing file with equal bytes, or a new one. `nil` if the file that it was
    /// to share was removed between the steps.
    private mutating func publishedFile(
        of image: StagedImage,
        at placement: Placement,
        replacing old: Int64?
    ) throws -> Int64? {
        // The first store counts as an access, a refetch does not: the new file inherits the old one's time, even if
        // that is not written yet.
        let written = try old.flatMap { try transaction.lastAccess(ofFile: $0) }
        let lastAccess = [written, old.flatMap(accesses.gatheredTime)].compactMap(\.self).max() ?? accesses.nextTime()
        let existing =
            if seesStep1 {
                try transaction.file(withDigest: image.sha256, in: image.storageClass, seenAs: placement.published)
            } else {
                try transaction.file(withDigest: image.sha256, in: image.storageClass)
            }
        if let file = existing, file.id != placement.damaged {
            // If another process published the same bytes between the steps, this image's own file is surplus.
            try synchronize(file, for: image, at: placement)
            try transaction.touch(fileID: file.id, microseconds: lastAccess)
            return file.id
        }
        guard let path = placement.path else { return nil }
        published.insert(path)
        let record = FileRecord(unlisted: path, in: image.storageClass, image.sizeBytes, image.image)
        guard let damaged = existing?.id else {
            return try transaction.insertFile(
                record,
                sha256: image.sha256,
                hasMetadata: image.image.hasMetadata,
                lastAccessMicroseconds: lastAccess
            )
        }
        let uses = [try transaction.lastAccess(ofFile: damaged), accesses.gatheredTime(ofFile: damaged), lastAccess]
        let healed = try transaction.insertFile(
            record,
            sha256: image.sha256,
            hasMetadata: image.image.hasMetadata,
            lastAccessMicroseconds: uses.compactMap(\.self).max() ?? lastAccess,
            inPlaceOf: damaged,
            holder: places.holder.name
        )
        if let retired = healed.retired { surplus.append(retired) }
        return healed.id
    }
}

extension Publication {
    /// Makes a file durable that step 1 did not see, for an image that must survive a power loss: its process had no need to.
    private func synchronize(_ file: FileRecord, for image: StagedImage, at placement: Placement) throws {
        guard placement.needsDurableCommit || isDurable, file.id != placement.shared?.id,
            !published.contains(file.path)
        else { return }
        let files = places.files(of: image.storageClass)
        // If this process dies before a failure is recorded, others know of it. `commitRows` ends the doubt.
        places.holder.set(.synchronizing, to: true)
        try files.synchronize(published: file.path, sha256: image.sha256, rewriting: true)
    }
}

/// An image would go because another one replaces it that a power loss may still take.
struct SuccessorNotDurable: Error {}

extension EntryImage {
    /// The image of a change. Own images and moved ones leave what the index keeps of an origin.
    fileprivate init(_ image: StagedImage, of change: Change, fileID: Int64, validation: ValidationRecord?) {
        self.init(fileID: fileID, sha256: image.sha256, storageClass: image.storageClass)
        self.validation = validation
        guard let url = change.sourceURL, let host = change.host else { return }
        source = (url, host)
        lowDataURL = change.lowDataURL
        isLowData = change.isLowData
    }
}

extension PastFailure {
    fileprivate init?(_ state: EntryState) {
        guard let kind = state.failure, let checked = state.checked else { return nil }
        self.init(kind: kind, count: state.failureCount, checked: checked, nextCheck: state.nextCheck)
    }
}

extension AvatarStoreError {
    fileprivate static func changedMeanwhile(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(
            .busy,
            "\(key) was not changed: another process replaced its image at the same moment. Try again.",
            failure: .storage
        )
    }
}
