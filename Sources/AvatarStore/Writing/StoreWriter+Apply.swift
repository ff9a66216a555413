import AvatarCore
import AvatarFiles
import AvatarIndex

/// Step 3 of publishing: what a committed change does to the index.
extension StoreWriter {
    /// Step 3, for one change. `nil`: the file that its image was to share went away between the steps, and nothing of the
    /// image was done.
    func apply(
        _ change: Change,
        at placement: Placement?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> ChangeResult? {
        let state = try transaction.state(of: change.key)
        if change.isRefresh, state == nil {
            // Removed meanwhile, and perhaps erased: neither the image nor its URL comes back, nor its host's name.
            surplus.add(placement?.pending(holder: places.holder.name))
            return .recorded
        }
        if let note = change.hostNote, let host = change.askedHost {
            try transaction.updateHealth(of: host, note.record)
        }
        let isOvertaken = try isOvertaken(change, since: state, in: transaction)
        switch change.content {
        case .image(let image, let validation):
            guard let placement else { return .recorded }
            // Somebody promoted the entry meanwhile; what was fetched for the caches never demotes it.
            let isFetched = change.host != nil
            let demotes = isFetched && image.storageClass == .caches && state?.storageClass == .documents
            if isOvertaken || demotes, let state, let file = state.fileID {
                // Published all the same, for other entries of the batch may share it, and left over at once.
                let unused = try publishedFile(
                    of: image,
                    at: placement,
                    replacing: file,
                    in: transaction,
                    leaving: &surplus
                )
                surplus.files += [unused].compactMap(\.self)
                try link(change, to: state.id, hasImage: true, in: transaction, leaving: &surplus)
                return .stored(file: file == placement.damaged ? unused ?? file : file, isChanged: false)
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
                surplus.add(placement?.pending(holder: places.holder.name))
                return .superseded(.changedMeanwhile(change.key))
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
            // What was confirmed is that file; another that came meanwhile has validators of its own.
            guard let state, state.fileID == file else { return .recorded }
            if !isOvertaken { try transaction.setValidation(validation, of: state.id) }
            try link(change, to: state.id, hasImage: true, in: transaction, leaving: &surplus)
        case .failed(let kind, let checked, let retryAfter):
            if isOvertaken, let state {
                try link(change, to: state.id, hasImage: state.fileID != nil, in: transaction, leaving: &surplus)
            } else {
                try applyFailure(
                    kind,
                    of: change,
                    checked: checked,
                    retryAfter: retryAfter,
                    to: state,
                    in: transaction,
                    leaving: &surplus
                )
            }
        case .linked:
            guard let state else { return .recorded }
            try link(change, to: state.id, hasImage: state.fileID != nil, in: transaction, leaving: &surplus)
        }
        return .recorded
    }

    /// Whether the origin was asked again, and gave its image, after the request to which `change` is the answer.
    ///
    /// So late is only a process that was paused for longer than others wait for its lease. Requests are compared, not
    /// answers: an answer may have lain in the socket all the while. Where nobody checked the entry meanwhile, no times
    /// are compared, so a clock that was set back keeps no new image out.
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

    private func store(
        _ change: Change,
        image: StagedImage,
        validation: ValidationRecord?,
        at placement: Placement,
        over state: EntryState?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> ChangeResult? {
        let file = try publishedFile(
            of: image,
            at: placement,
            replacing: state?.fileID,
            in: transaction,
            leaving: &surplus
        )
        guard let file else { return nil }
        let id =
            try state?.id
            ?? transaction.insertEntry(
                change.key,
                sourceURL: change.sourceURL,
                host: change.host,
                storageClass: image.storageClass,
                fileID: file
            )
        if state != nil {
            if let source = change.sourceURL, let host = change.host {
                try transaction.setSource(source, host: host, of: id, key: change.key)
            }
            try transaction.setFile(file, storageClass: image.storageClass, of: id)
        }
        if change.host != nil, change.isLowData || change.lowDataURL != nil || state?.isLowData == true {
            try transaction.setLowData(change.lowDataURL, isStored: change.isLowData, of: id)
        }
        if change.host != nil { try forgetPartial(of: change.key, transaction) }
        if let validation { try transaction.setValidation(validation, of: id) }
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

    /// The row of the image's file: that of the equal bytes that are there already, or a new one. `nil` if the file that
    /// it was to share went away between the steps.
    private func publishedFile(
        of image: StagedImage,
        at placement: Placement,
        replacing old: Int64?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws -> Int64? {
        // A first store is an access; a refetch is not, so the new file inherits the old one's time, also one that is not
        // written yet.
        let written = try old.flatMap { try transaction.lastAccess(ofFile: $0) }
        let lastAccess = [written, old.flatMap(accesses.gatheredTime)].compactMap(\.self).max() ?? accesses.nextTime()
        let pending = placement.pending(holder: places.holder.name)
        let published = try transaction.file(withDigest: image.sha256, in: image.storageClass)
        if let file = published, file.id != placement.damaged {
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
        guard let damaged = published?.id else {
            return try transaction.insertFile(record, sha256: image.sha256, lastAccessMicroseconds: lastAccess)
        }
        let uses = [try transaction.lastAccess(ofFile: damaged), accesses.gatheredTime(ofFile: damaged), lastAccess]
        let healed = try transaction.insertFile(
            record,
            sha256: image.sha256,
            lastAccessMicroseconds: uses.compactMap(\.self).max() ?? lastAccess,
            inPlaceOf: damaged,
            holder: places.holder.name
        )
        surplus.add(healed.retired)
        return healed.id
    }

    private func applyFailure(
        _ kind: FailureKind,
        of change: Change,
        checked: Timestamp,
        retryAfter: Timestamp?,
        to state: EntryState?,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        if let state {
            try link(change, to: state.id, hasImage: state.fileID != nil, in: transaction, leaving: &surplus)
        }
        let check = FailedCheck(
            kind,
            at: checked,
            after: state.flatMap(PastFailure.init),
            retryAfter: retryAfter,
            goneConfirmations: Int(try transaction.requiredValue(of: .goneConfirmations)),
            jitter: .random(in: 0...1)
        )
        guard let check, let host = change.host else { return }
        let isNone = change.key.isEmailImage && kind == .gone && state?.fileID == nil
        let id =
            try state?.id
            ?? transaction.insertEntry(change.key, sourceURL: change.sourceURL, host: host, storageClass: .caches)
        try transaction.setFailure(
            kind,
            count: check.count,
            checked: checked,
            // A source's "none" is asked about by the sync of a list that has the address, and by nobody else.
            nextCheck: isNone ? nil : check.nextCheck,
            of: id
        )
        if state == nil { try link(change, to: id, hasImage: false, in: transaction, leaving: &surplus) }
        guard check.isRemovalConfirmed else { return }
        // An image that was evicted is gone for good now, too.
        try transaction.dropFile(of: id)
        surplus.files += [state?.fileID].compactMap(\.self)
    }

    /// Links the contacts to the entry. Once it has an image, they lose the ones they had before.
    private func link(
        _ change: Change,
        to id: Int64,
        hasImage: Bool,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        for contact in change.owners {
            // An image of the contact's own does not take the place of the fetched one.
            let replaces = change.host != nil || !change.key.isOwnImage
            guard hasImage || !replaces else {
                if !change.key.isEmailImage {
                    // The contact's URL changed again, and what the former one shows is not wanted any more.
                    let superseded = try transaction.unlinkSuperseded(of: contact, by: id, keepsGone: change.keepsGone)
                    try removeIfUnowned(superseded, in: transaction, leaving: &surplus)
                }
                try transaction.link(contact, toComing: id)
                continue
            }
            try transaction.link(contact, to: id)
            guard replaces else { continue }
            try unlinkOthers(
                of: contact,
                keeping: id,
                key: change.key,
                keepsGone: change.keepsGone,
                in: transaction,
                leaving: &surplus
            )
        }
    }

    private func unlinkOthers(
        of contact: String,
        keeping id: Int64,
        key: AvatarKey,
        keepsGone: Bool,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        let others = try transaction.unlinkOtherFetchedImages(
            of: contact,
            keeping: id,
            andGone: keepsGone,
            andNone: key.isEmailImage
        )
        try removeIfUnowned(others, in: transaction, leaving: &surplus)
    }

    private func removeIfUnowned(
        _ entries: [(id: Int64, key: AvatarKey)],
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        for (id, key) in entries {
            try removeIfUnowned(id, key: key, in: transaction, leaving: &surplus)
        }
    }
}

extension StoreWriter {
    /// Links each contact to its entry, and gives the keys that are not there.
    func link(_ links: [(contact: String, key: AvatarKey)]) throws -> [AvatarKey] {
        try write { transaction in
            try links.compactMap { contact, key in
                guard let state = try transaction.state(of: key) else { return key }
                try transaction.link(contact, to: state.id)
                return nil
            }
        }
    }

    /// Takes the entries from the contacts; what is left without an owner stays or goes, as the store is set.
    ///
    /// - Returns: how many links were there to be taken.
    @discardableResult
    func unlink(_ links: [(contact: String, key: AvatarKey)]) throws -> Int {
        guard !links.isEmpty else { return 0 }
        let (count, retired) = try write(.power) { transaction in
            var surplus = Surplus()
            var count = 0
            for (contact, key) in links {
                guard let state = try transaction.state(of: key), try transaction.unlink(contact, from: state.id)
                else { continue }
                count += 1
                try removeIfUnowned(state.id, key: key, in: transaction, leaving: &surplus)
            }
            return (count, try surplus.files.compactMap { try release($0, in: transaction) })
        }
        try unlink(retired)
        try settle()
        return count
    }

    /// An image that no contact uses any more stays until it is evicted, unless the store is set otherwise; its origin is asked
    /// again only once a list or a read names it. A photo that
    /// came inside a contact goes in any case: nobody would ever ask for it again. So does what a source has, or has not,
    /// for an e-mail address: it says who somebody is.
    private func removeIfUnowned(
        _ id: Int64,
        key: AvatarKey,
        in transaction: IndexTransaction,
        leaving surplus: inout Surplus
    ) throws {
        guard try !transaction.hasOwner(id) else { return }
        guard try key.isContactPhoto || key.isEmailImage || transaction.value(of: .keepUnowned) == 0 else {
            return try transaction.stopChecking(id)
        }
        if key.isEmailImage { try forgetPartial(of: key, transaction) }
        if let file = try transaction.fileID(of: id) { surplus.files.append(file) }
        try transaction.removeEntry(id: id)
    }
}

/// What a transaction leaves over, to be retired at its end and unlinked after it.
struct Surplus {
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
        self.init(kind: kind, count: state.failureCount, checked: checked, nextCheck: state.nextCheck)
    }
}

extension AvatarStoreError {
    fileprivate static func changedMeanwhile(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(.busy, "\(key) was changed by somebody else at the same moment; try again.", failure: .storage)
    }
}
