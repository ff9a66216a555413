import AvatarCore

/// Carries out the steps of a sync's plan: queues requests, links contacts to images that get none, and counts.
struct SyncStepRunner {
    /// Shared with the other parts.
    let scope: SyncScope
    let planning: SyncPlanning
    let dispatcher: SyncDispatcher
    let committer: SyncCommitter
    let photos: SyncPhotos
    let promotion: SyncPromotion

    /// The contacts that wait.
    private var contacts: SyncContacts { scope.contacts }
    /// Counts and reports.
    private var tally: SyncTally { scope.tally }

    /// Carries out `steps` in their order. Links to stored images come last, after one look-up for all of them.
    ///
    /// - Throws: an error of the index or the disk; `invalidKey` for a contact whose id cannot be part of a key.
    package func run(_ steps: [SyncStep]) async throws {
        var kept: [SyncCommitter.StoredLink] = []
        for step in steps {
            tally.update { $0.count(step) }
            switch step {
            case .contact: break
            case .settled, .refused, .unreadable, .duplicate: tally.settle()
            case .image(let image): try await run(image, &kept)
            case .photos(let planned): try await photos.save(planned)
            case .withoutImage(let contact, let former):
                tally.settle()
                if let contact { contacts.prune(former, from: contact) }
            case .link(let key, let contact, let keepsGone): committer.link(key, contact, keepsGone: keepsGone)
            case .replace(let contact, let former, let successors):
                contacts.replace(former, by: successors, of: contact)
            case .postponed(let count, _): tally.settle(count)
            }
        }
        try committer.linkIfMissing(kept)
    }

    /// Carries out the plan for one image.
    ///
    /// - Parameter kept: gathers links to images that get no request.
    private func run(_ image: PlannedImage, _ kept: inout [SyncCommitter.StoredLink]) async throws {
        let key = image.key
        switch image.action {
        case .keep:
            tally.update { report in
                report.fresh += 1
                if image.entry?.isIgnored == true { report.ignored += 1 }
            }
            tally.settle()
            try await promotion.promote(key)
            linkStored(image, &kept)
        case .skip(let reason):
            tally.update { $0.skip(reason) }
            tally.settle()
            // The limit applies to all work of the sync, including moves.
            if image.hasFile, reason != .limit { try await promotion.promote(key) }
            linkStored(image, &kept)
        case .leaveOut:
            tally.update { $0.overBudget += 1 }
            tally.settle()
            linkStored(image, &kept)
        case .request(let target, _):
            if let chain = image.chain { contacts.begin(key, for: chain) }
            if let place = image.place { contacts.note(place, of: key) }
            dispatcher.add(target)
        case .share:
            tally.settle()
            if image.chain == nil, let contact = image.contact, planning.isInFlight(key) {
                contacts.share(key, with: contact)
            } else {
                linkStored(image, &kept)
            }
        case .wait:
            if let chain = image.chain { contacts.wait(chain, for: key) }
        case .refuse(let error):
            tally.update { $0.fail(.unsupportedURL) }
            tally.settle()
            let failure = FetchFailure(kind: .unsupportedURL, message: error.message)
            tally.add(failure, key, of: image.contact, at: image.place)
        }
    }

    /// Links the contact of an image that gets no request, if the image has an entry.
    private func linkStored(_ image: PlannedImage, _ kept: inout [SyncCommitter.StoredLink]) {
        guard let entry = image.entry, let contact = image.contact else { return }
        if let chain = image.chain {
            if !image.isLinked { committer.link(image.key, contact, keepsGone: chain.keepsGone) }
        } else {
            kept.append((image.key, contact, entry.id))
        }
    }
}
