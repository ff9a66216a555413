import AvatarCore
import AvatarFiles
import AvatarIndex

/// What to do about each item, before anybody is asked.
extension SyncRun {
    var policy: SyncPolicy {
        SyncPolicy(
            options,
            limits,
            isConstrained: isConstrained,
            refusesAddresses: store.refusesAddresses,
            now: store.clock.now()
        )
    }

    /// Settles what can be settled from the index, and queues the rest.
    func sort(_ items: [SyncItem]) async throws {
        var wanted: [(key: AvatarKey, entry: AvatarEntry?, contact: String?, lowDataURL: String?)] = []
        var listed: [(key: AvatarKey, contact: String, lowDataURL: String?)] = []
        for item in items {
            switch item {
            case .entry(let entry) where entry.isKnownNone:
                done += 1
            case .entry(let entry):
                // Once settled it is no longer due, and a second walk would not meet it.
                if let file = entry.file { settledFiles.insert(file.id) }
                wanted.append((entry.key, entry, nil, nil))
            case .photos(let listed):
                try await sort(listed)
            case .listed(let url, let contact, let lowDataURL):
                report.contacts += 1
                noteName(contact)
                if let key = newKey(url, contact) { listed.append((key, contact, lowDataURL)) }
            case .postponed(let count, let reason):
                report.skip(reason, count)
                done += count
            case .withoutImage:
                report.contacts += 1
                report.withoutImage += 1
                done += 1
            case .emailed(let contact, let emails):
                try await sort(emails, of: contact)
            case .candidates(let keys, let contact, let lowDataURL):
                try await sort(keys, lowDataURL, of: contact)
            case .unreadable(let place, let reason):
                hasUnreadableRecord = true
                countUnreadable(.unreadable(reason, at: place))
            case .duplicate(let record):
                report.duplicates += 1
                SyncReport.Duplicate.note(record, in: &report.duplicateContacts)
                done += 1
            case .nothingYet:
                break
            }
        }
        try noteFormerPhotos(in: items)
        let entries = try store.index.entries(for: listed.map(\.key))
        wanted += zip(listed, entries).map { ($0.key, $1, $0.contact, $0.lowDataURL) }
        // Somebody may have emptied the caches directory: the files themselves are looked at.
        let haveFiles = wanted.map { $0.entry?.file.map { store.roots.contains($0) } ?? false }
        let lost = zip(wanted, haveFiles).compactMap { $1 ? nil : $0.entry?.file }
        if !lost.isEmpty {
            try await writer.retireLost(lost)
            try lookAtTotals()
        }
        var kept: [(key: AvatarKey, contact: String, id: Int64)] = []
        for ((key, entry, contact, lowDataURL), hasFile) in zip(wanted, haveFiles) {
            let isKept = try await sort(key, entry, hasFile: hasFile, contact, lowDataURL)
            if isKept || laterOwners[key] == nil { endChains(at: key) }
            guard isKept, let contact, let entry else { continue }
            let contacts = [contact] + (laterOwners.removeValue(forKey: key) ?? [])
            kept += contacts.map { (key, $0, entry.id) }
        }
        try link(kept + settledRepeats())
    }

    /// The further contacts, in this page, of images that were settled before, with their entries.
    private func settledRepeats() throws -> [(key: AvatarKey, contact: String, id: Int64)] {
        let repeats = repeatedContacts
        repeatedContacts = []
        guard !repeats.isEmpty else { return [] }
        return zip(repeats, try store.index.entries(for: repeats.map(\.key))).compactMap { item, entry in
            entry.map { (item.key, item.contact, $0.id) }
        }
    }

    private func countUnreadable(_ failure: SyncReport.Failure) {
        report.unreadable += 1
        report.add(failure)
        done += 1
    }

    /// The key of a listed URL, unless the list named it before or it is none.
    private func newKey(_ url: String, _ contact: String) -> AvatarKey? {
        do {
            let key = try AvatarKey(url: url)
            guard seen.insert(KeyFingerprint(key.rawValue)).inserted else {
                repeated(key, contact)
                return nil
            }
            laterOwners[key] = []
            return key
        } catch {
            guard seen.insert(KeyFingerprint(url)).inserted else {
                done += 1
                return nil
            }
            report.failed += 1
            done += 1
            // A list of bare URLs names its contacts by them, and this one may hold a password.
            let named = contact == url ? nil : contact
            report.add(
                .init(key: AvatarKey.redact(url), kind: .unsupportedURL, message: error.message, contact: named)
            )
            return nil
        }
    }

    /// One more contact of an image that the list named before.
    private func repeated(_ key: AvatarKey, _ contact: String) {
        done += 1
        if chains[key] != nil { namedPlainly.insert(key) }
        if laterOwners[key] != nil {
            laterOwners[key]?.append(contact)
        } else {
            repeatedContacts.append((key, contact))
        }
    }

    /// Links the contacts that came after the first, now that it is known what is stored for the key.
    ///
    /// - Parameter keepsGone: whether they stay linked to candidates that are gone.
    func linkLaterOwners(of key: AvatarKey, keepsGone: Bool = false) {
        endChains(at: key)
        for contact in laterOwners.removeValue(forKey: key) ?? [] { collectLink(key, contact, keepsGone: keepsGone) }
    }

    func collectLink(_ key: AvatarKey, _ contact: String, keepsGone: Bool = false) {
        var change = Change(key: key, owners: [contact], content: .linked)
        change.keepsGone = keepsGone
        collected.append(Collected(change: change))
    }

    /// - Parameter hasFile: whether its file was seen.
    /// - Returns: whether the image stays as it is stored.
    func sort(
        _ key: AvatarKey,
        _ entry: AvatarEntry?,
        hasFile: Bool,
        _ contact: String?,
        _ lowDataURL: String?,
        in chain: CandidateChain? = nil
    ) async throws -> Bool {
        var target: FetchTarget
        do throws(AvatarStoreError) {
            target = try FetchTarget(
                key: key,
                source: nil,
                entry: entry,
                storageClass: options.storage.storageClass
            )
            try target.consider(lowDataURL: lowDataURL, isConstrained: isConstrained)
            target.hasSuccessor = chain?.hasNext == true
            target.keepsGone = chain?.keepsGone == true
        } catch {
            // A URL for constrained networks that is none, or an index that was changed by hand.
            report.fail(.unsupportedURL)
            done += 1
            add(FetchFailure(kind: .unsupportedURL, message: error.message), key, of: contact)
            linkLaterOwners(of: key)
            return false
        }
        let policy = policy
        let blocked = reasonToSkip(target.host)
        switch try policy.decide(entry, hasFile: hasFile, isBlocked: blocked != nil, request: store.requestFields) {
        case .keep:
            report.fresh += 1
            done += 1
            if options.storage == .documents { try await promote(key) }
            return true
        case .skip:
            report.skip(policy.reasonToSkip(entry, host: blocked))
            done += 1
            if options.storage == .documents, hasFile { try await promote(key) }
            if entry == nil { laterOwners[key] = nil }
            return entry != nil
        case .ask(let brings):
            try await ask(target, contact, brings: brings)
            return false
        }
    }

    private func ask(_ target: FetchTarget, _ contact: String?, brings: Bool) async throws {
        var target = target
        target.owners = contact.map { [$0] } ?? []
        target.isRefresh = contact == nil && target.entry != nil
        target.isUnconditional = options.policy == .reload
        if isOffline { return skip(target, .offline) }
        guard startedFetches < options.limit ?? .max else { return skip(target, .limit) }
        if brings, target.storageClass == .caches, try await !hasRoom() { return leaveOut(target) }
        startedFetches += 1
        if hosts.isOnProbation(target.host) { queues.setLimit(1, ofHost: target.host) }
        queues.add(target, host: target.host)
    }

    /// Moves an image that is stored in `caches` to the documents.
    func promote(_ key: AvatarKey) async throws {
        do {
            _ = try await store.move(key, to: .documents)
        } catch let error as AvatarStoreError where error.code == .noSuchEntry {
            // Removed or purged in between; the next sync finds it missing.
        }
    }

    /// Links the contacts of an image that is left as it is, if there is an entry to link them to.
    func linkOwners(of target: FetchTarget) {
        endChains(at: target.key)
        let contacts = target.owners + (laterOwners.removeValue(forKey: target.key) ?? [])
        guard target.entry != nil else { return }
        for contact in contacts { collectLink(target.key, contact, keepsGone: target.keepsGone) }
    }

    /// Links contacts to images that stay, where the index does not say so already.
    private func link(_ kept: [(key: AvatarKey, contact: String, id: Int64)]) throws {
        guard !kept.isEmpty else { return }
        let missing = try store.index.unlinked(kept.map { ($0.contact, $0.id) })
        for (item, isMissing) in zip(kept, missing) where isMissing { collectLink(item.key, item.contact) }
    }

    // MARK: Room

    /// Whether it makes sense to fetch an image that is not stored yet.
    ///
    /// In a store that is full of wanted images it does not, and a second sync must not fetch a batch to find out.
    private func hasRoom() async throws -> Bool {
        if isRoomExhausted { return false }
        guard !hasLookedForRoom else { return true }
        hasLookedForRoom = true
        do {
            isRoomExhausted = try await !writer.couldFit(typicalBytes, rules)
        } catch is ProtectionNeeded {
            try await protectWantedFiles()
            isRoomExhausted = try await !writer.couldFit(typicalBytes, rules)
        }
        return !isRoomExhausted
    }

    /// Says which files this sync may not evict: those of all images it wants. Only when something has to go does it
    /// have to know, and then it walks the source once more.
    func protectWantedFiles() async throws {
        var files: Set<Int64> = []
        let walk = source.makeWalk()
        while true {
            let items = try await walk(256)
            if items.isEmpty { break }
            var keys: [AvatarKey] = []
            for item in items {
                switch item {
                case .entry(let entry): if let file = entry.file { files.insert(file.id) }
                case .listed(let url, _, _): if let key = Self.key(url) { keys.append(key) }
                case .candidates(let candidates, _, _): keys += candidates
                case .emailed(_, let emails): keys += try options.emailCandidates(for: emails)
                case .postponed, .withoutImage, .photos, .unreadable, .duplicate, .nothingYet: break
                }
            }
            files.formUnion(try store.index.entries(for: keys).compactMap { $0?.file?.id })
        }
        rules.protection = .files(files.union(settledFiles))
    }

    static func key(_ url: String) -> AvatarKey? {
        do {
            return try AvatarKey(url: url)
        } catch {
            // What is no key uses no file; the walk that settles it reports it.
            return nil
        }
    }
}
