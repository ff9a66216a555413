import AvatarCore

/// Carries out the steps of a sync's plan: queues requests, links contacts to images that get none, and counts.
struct SyncStepRunner {
    let planning: SyncPlanning
    let dispatcher: SyncDispatcher
    let committer: SyncCommitter
    let contacts: SyncContacts
    let photos: SyncPhotos
    let promotion: SyncPromotion
    let tally: SyncTally

    /// Carries out `steps` in their order. Links to stored images come last, after one look-up for all of them.
    ///
    /// - Throws: an error of the index or the disk; `invalidKey` for a contact whose id cannot be part of a key.
    package func run(_ steps: [SyncStep]) async throws {
        var kept: [SyncCommitter.StoredLink] = []
        for step in steps {
            switch step {
            case .contact: tally.update { $0.contacts += 1 }
            case .settled: tally.settle()
            case .image(let image): try await run(image, &kept)
            case .photos(let planned): try await photos.save(planned)
            case .withoutImage(let contact, let former):
                tally.update { $0.withoutImage += 1 }
                tally.settle()
                if let contact { contacts.prune(former, from: contact) }
            case .link(let key, let contact, let keepsGone): committer.link(key, contact, keepsGone: keepsGone)
            case .replace(let contact, let former, let successors):
                contacts.replace(former, by: successors, of: contact)
            case .refused(let text, let contact, let error, let place):
                tally.update { report in
                    report.fail(.unsupportedURL)
                    report.add(.init(refused: text, error, contact: contact, at: place))
                }
                tally.settle()
            case .postponed(let count, let reason):
                tally.update { $0.skip(reason, count) }
                tally.settle(count)
            case .unreadable(let place, let reason):
                tally.update { report in
                    report.unreadable += 1
                    report.add(.init(unreadable: reason, at: place))
                }
                tally.settle()
            case .duplicate(let record):
                tally.update { report in
                    report.duplicates += 1
                    report.details.noteDuplicate(of: record.contact, at: record.place, last: record.last)
                }
                tally.settle()
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
            tally.add(FetchFailure(kind: .unsupportedURL, message: error.message), key, of: image.contact)
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
