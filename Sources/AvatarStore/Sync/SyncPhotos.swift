import AvatarCore
import AvatarFiles
import AvatarWriter

/// Saves the embedded photos of a list: documents under the contacts' own keys, written only if their bytes are new.
struct SyncPhotos {
    /// Has the store, and the sources that learn of photos that the store does not have.
    let scope: SyncScope
    /// Collects the photos.
    let committer: SyncCommitter

    /// Counts and reports.
    private var tally: SyncTally { scope.tally }

    /// Saves the photos of one contact, and unlinks those of an earlier list.
    ///
    /// - Throws: an error of the index or the disk; `invalidKey` for a contact whose id cannot be part of a key.
    func save(_ planned: PlannedPhotos) async throws {
        let listed = planned.listed
        if !listed.hasURL { tally.settle() }
        var isReadable = listed.unreadable.isEmpty
        for image in listed.unreadable { try countUnreadable(image, of: listed) }
        for photo in listed.photos {
            let isSaved = try save(photo, as: listed.key(of: photo.number), of: listed, planned.linked)
            isReadable = isReadable && isSaved
        }
        try await scope.writer.unlink(planned.formerPhotos.map { (listed.contact, $0) })
        // While a photo cannot be read, the contact keeps the fetched image.
        guard isReadable, !planned.formerImages.isEmpty else { return }
        let keys = try listed.photos.map { try listed.key(of: $0.number) }
        scope.contacts.replace(planned.formerImages, by: keys, of: listed.contact)
    }

    /// - Returns: whether the photo is an image, and stored or about to be.
    private func save(
        _ photo: ContactPhoto,
        as key: AvatarKey,
        of listed: ListedPhotos,
        _ linked: [AvatarKey]
    ) throws -> Bool {
        guard try !scope.parts.isStored(photo.sha256, as: key) else {
            tally.update { $0.saved += 1 }
            if !linked.contains(key) { committer.link(key, listed.contact) }
            return true
        }
        guard photo.digest == nil else {
            // It was removed, or its file was lost.
            scope.sources?.noteMissingPhoto(key)
            return false
        }
        do {
            let intake = scope.parts.intake(scope.engine.limits)
            let image = try intake.stage(photo.bytes, in: .documents, at: scope.engine.places)
            let change = Change(key: key, owners: [listed.contact], content: .image(image, validation: nil))
            committer.add(SyncCommitter.Item(change))
            scope.contacts.note(listed.place(of: photo), of: key)
            return true
        } catch let error as AvatarStoreError where error.code == .imageRefused {
            scope.sources?.noteMissingPhoto(key)
            tally.update { report in
                report.unreadable += 1
                report.add(.init(photo, error, key: key, of: listed))
            }
            return false
        }
    }

    /// Counts an embedded image that cannot be read. The image of an earlier list stays.
    private func countUnreadable(_ image: UnreadableContactImage, of listed: ListedPhotos) throws {
        let failure = try SyncReport.Failure(image, of: listed)
        tally.update { report in
            report.unreadable += 1
            report.add(failure)
        }
    }

    /// Counts a photo that was committed or refused.
    package func count(_ key: AvatarKey, _ committed: Committed) {
        let place = scope.contacts.takePlace(of: key)
        switch committed.outcome {
        case .stored(let isChanged): tally.countSaved(key, isChanged: isChanged)
        case .overBudget(let error): countUnsaved(key, error, at: place)
        case .failed(let failure): countUnsaved(key, failure.error, at: place)
        case .notModified, .notStored, .ignored, nil: break
        }
    }

    /// Counts a photo that could not be stored. The report names the contact that the index has for it.
    private func countUnsaved(_ key: AvatarKey, _ error: AvatarStoreError, at place: ListPlace?) {
        scope.sources?.noteMissingPhoto(key)
        tally.update { $0.unreadable += 1 }
        tally.add(FetchFailure(kind: .storage, message: error.message), key, of: nil, at: place)
    }
}
