import AvatarCore
import AvatarFiles
import AvatarIndex

/// Step 3 of publishing: the rows of a change whose files are in place.
extension StoreWriter {
    /// Step 3 for one change. `nil` if the file that its image was to share was removed between the steps; then nothing
    /// of the image was done.
    func apply(
        _ change: Change,
        at placement: Placement?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> Committed? {
        if case .rendition(let image, let source) = change.content {
            return try apply(image, as: source, at: placement, in: transaction, leaving: &surplus)
        }
        let state =
            if surplus.seesStep1, let placement {
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
        let isOvertaken = try isOvertaken(change, since: state, in: transaction)
        switch change.content {
        case .image(let image, let validation):
            guard let placement else { return change.recorded }
            if try isIgnored(change, image, in: transaction) {
                return try applyIgnored(
                    change,
                    image,
                    validation,
                    to: state,
                    isOvertaken: isOvertaken,
                    in: transaction,
                    leaving: &surplus
                )
            }
            // If another process made the entry a document meanwhile, an image fetched for `caches` does not demote it.
            let isFetched = change.host != nil
            let demotes = isFetched && image.storageClass == .caches && state?.storageClass == .documents
            if isOvertaken || demotes, let state, let file = state.fileID {
                // The file is in place already, and other entries of the batch may share it, so it gets its row and is
                // released at once.
                let unused = try publishedFile(
                    of: image,
                    at: placement,
                    replacing: file,
                    in: transaction,
                    leaving: &surplus
                )
                surplus.files += [unused].compactMap(\.self)
                if change.isSupplied { return .failed(.changedMeanwhile(change.key)) }
                try link(change, to: state.id, hasImage: true, in: transaction, leaving: &surplus)
                return .keeping(file == placement.damaged ? unused ?? file : file)
            }
            return try store(
                change,
                image: image,
                validation: validation,
                at: placement,
                over: state,
                in: transaction,
                leaving: &surplus
            )
        case .moved(let image, let file):
            guard let placement, let state, state.fileID == file else {
                return .failed(.changedMeanwhile(change.key))
            }
            return try store(
                change,
                image: image,
                validation: nil,
                at: placement,
                over: state,
                in: transaction,
                leaving: &surplus
            )
        case .confirmed(let validation, let file):
            guard let state else { return change.recorded }
            // The entry still has the same validators if another process ignored the picture meanwhile.
            guard state.isIgnored || state.fileID != nil && state.fileID == file else {
                // The origin confirmed only this file; a newer file has its own validators.
                return change.recorded
            }
            if !isOvertaken { try transaction.setValidation(validation, of: state.id) }
            try link(change, to: state.id, hasImage: !state.isIgnored, in: transaction, leaving: &surplus)
            if state.isIgnored { return Committed(outcome: .ignored(isReceived: false)) }
        case .failed(let failure, let checked):
            if isOvertaken, let state {
                try link(change, to: state.id, hasImage: state.fileID != nil, in: transaction, leaving: &surplus)
            } else {
                try applyFailure(
                    failure,
                    of: change,
                    checked: checked,
                    to: state,
                    in: transaction,
                    leaving: &surplus
                )
            }
        case .linked:
            guard let state else { return change.recorded }
            try link(change, to: state.id, hasImage: state.fileID != nil, in: transaction, leaving: &surplus)
        case .rendition:
            break
        }
        return change.recorded
    }

    /// Step 3 for a rendition: adds the row of its file, and its link to the original. Does nothing without the original.
    private func apply(
        _ image: StagedImage,
        as source: RenditionSource,
        at placement: Placement?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> Committed? {
        guard let placement, try transaction.digest(ofFile: source.file) != nil else {
            return Committed(outcome: .notStored)
        }
        let file = try publishedFile(of: image, at: placement, replacing: nil, in: transaction, leaving: &surplus)
        guard let file else { return nil }
        try transaction.insertRendition(source.spec, of: source.file, file: file)
        // Record the use of the original last, because its eviction deletes its renditions too.
        try transaction.touch(fileID: source.file, microseconds: accesses.nextTime())
        if source.isDecoded { try transaction.forgetUndecodable(source.file) }
        // Another process may have made the rendition with other bytes. This file is not used then.
        surplus.files.append(file)
        if !source.thumbHash.isEmpty { try transaction.setThumbHash(source.thumbHash, ofFile: source.file) }
        return .stored(file: file, isChanged: false)
    }

    /// Whether a response to a later request is stored already.
    ///
    /// This happens to a process that was paused for longer than others wait for its lease. The times of the requests
    /// are compared, because a response may have waited in the socket. If no process checked the entry meanwhile, no
    /// times are compared, so a clock that was set back does not reject a new image.
    private func isOvertaken(
        _ change: Change,
        since state: EntryState?,
        in transaction: IndexTransaction
    ) throws -> Bool {
        guard let order = change.order, let state, state.checked != order.lastCheck,
            let stored = try transaction.requestTime(of: state.id)
        else { return false }
        return stored > order.requested
    }

    /// Stores the image of a change in its entry, which is created if it is missing. `nil` as `apply`.
    private func store(
        _ change: Change,
        image: StagedImage,
        validation: ValidationRecord?,
        at placement: Placement,
        over state: EntryState?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> Committed? {
        let file = try publishedFile(
            of: image,
            at: placement,
            replacing: state?.fileID,
            in: transaction,
            leaving: &surplus
        )
        guard let file else { return nil }
        let stored = EntryImage(image, of: change, fileID: file, validation: validation)
        let id: Int64
        if let state {
            id = state.id
            try transaction.setImage(stored, of: id, key: change.key)
        } else {
            id = try transaction.insertEntry(change.key, stored)
        }
        if placement.path == nil { try transaction.shareThumbHash(ofFile: file, with: id) }
        if change.host != nil { try forgetPartial(of: change.key, transaction) }
        try link(change, to: id, hasImage: true, in: transaction, leaving: &surplus)
        if state != nil, state?.fileID == nil {
            for contact in try transaction.contactsWaiting(for: id) {
                try unlinkOthers(
                    of: contact,
                    keeping: id,
                    key: change.key,
                    keepsGone: false,
                    in: transaction,
                    leaving: &surplus
                )
            }
        }
        guard let old = state?.fileID, old != file, old != placement.damaged else {
            return .stored(file: file, isChanged: false)
        }
        surplus.files.append(old)
        if case .moved = change.content { return .stored(file: file, isChanged: false) }
        return .stored(file: file, isChanged: true)
    }

    /// The row id of the image's file: an existing file with equal bytes, or a new one. `nil` if the file that it was
    /// to share was removed between the steps.
    private func publishedFile(
        of image: StagedImage,
        at placement: Placement,
        replacing old: Int64?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> Int64? {
        // The first store counts as an access, a refetch does not: the new file inherits the old one's time, even if
        // that is not written yet.
        let written = try old.flatMap { try transaction.lastAccess(ofFile: $0) }
        let lastAccess = [written, old.flatMap(accesses.gatheredTime)].compactMap(\.self).max() ?? accesses.nextTime()
        let published =
            if surplus.seesStep1 {
                try transaction.file(withDigest: image.sha256, in: image.storageClass, seenAs: placement.published)
            } else {
                try transaction.file(withDigest: image.sha256, in: image.storageClass)
            }
        if let file = published, file.id != placement.damaged {
            // If another process published the same bytes between the steps, this image's own file is surplus.
            try transaction.touch(fileID: file.id, microseconds: lastAccess)
            return file.id
        }
        guard let path = placement.path else { return nil }
        surplus.published.insert(path)
        let record = FileRecord(
            id: 0,
            storageClass: image.storageClass,
            path: path,
            sizeBytes: image.sizeBytes,
            mediaType: image.image.format.mediaType,
            width: image.image.width,
            height: image.image.height
        )
        guard let damaged = published?.id else {
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
        surplus.add(healed.retired)
        return healed.id
    }

    /// Stores a failed check: when to try again, and whether the image counts as removed for good.
    private func applyFailure(
        _ failure: FetchFailure,
        of change: Change,
        checked: Timestamp,
        to state: EntryState?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        if let state {
            try link(change, to: state.id, hasImage: state.fileID != nil, in: transaction, leaving: &surplus)
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
        if state == nil { try link(change, to: id, hasImage: false, in: transaction, leaving: &surplus) }
        // An ignored picture needs no confirmation.
        guard check.isRemovalConfirmed || failure.kind == .gone && state?.isIgnored == true else { return }
        // An image that was evicted is now gone for good, too.
        try transaction.dropFile(of: id)
        surplus.files += [state?.fileID].compactMap(\.self)
    }
}

/// Step 3 while it runs: files left over by the transaction, which are retired at its end and unlinked after it.
struct Surplus {
    /// Row ids of files that an entry no longer uses; other entries may.
    package var files: [Int64] = []
    /// Files that exist without being published, each with a pending row of its own.
    var pending: [PendingFile] = []
    /// The paths of the new files that were published. The other files of the batch are surplus.
    var published: Set<String> = []
    /// Whether nothing was committed since step 1, so that what it found still holds, except for changes of this
    /// transaction.
    var seesStep1 = false

    mutating func add(_ file: PendingFile?) {
        if let file { pending.append(file) }
    }
}

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
