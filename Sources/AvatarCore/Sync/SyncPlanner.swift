/// Plans a sync: what to do about each item, before any request is sent.
///
/// The plan is a function of the items, of what the index and the disk hold for them (`SyncSnapshot`), of the rules, of
/// the health of the hosts, of network and room, and of the time. A dry run counts its steps; a sync carries them out. The
/// planner remembers what the list named so far, so that each image and each contact is planned once.
package struct SyncPlanner: Sendable {
    private let rules: SyncRules
    /// The keys that were named so far, and the spellings that are not a URL. The keys with a planned request that is not
    /// settled yet are marked.
    private var named = FingerprintSet()
    /// The contacts for which the list has an image, or a source to ask for one.
    private var withImages = FingerprintSet()
    /// Requests that were planned and not returned.
    private var requestCount = 0
    /// Contacts of the list, each once.
    private var contactCount = 0
    /// Whether a record of the list could not be read, so that its contact is not known.
    private var hasUnreadableRecord = false

    /// A planner that has seen no item.
    package init(_ rules: SyncRules) {
        self.rules = rules
    }

    /// Whether as many requests are planned as the rules allow.
    package var hasReachedLimit: Bool { requestCount >= rules.requestLimit ?? .max }

    /// Whether a request for `key`, which the list has named, is planned or under way.
    package func isInFlight(_ key: AvatarKey) -> Bool {
        named.isMarked(key.rawValue)
    }

    /// Says that the image of `key` is settled.
    package mutating func settle(_ key: AvatarKey) {
        named.mark(key.rawValue, false)
    }

    /// Says that a planned request was not sent, so that another one may be.
    package mutating func returnRequest() {
        requestCount -= 1
    }

    // MARK: Items

    /// The steps for `items`, in their order.
    ///
    /// - Parameters:
    ///   - items: the next items of the source.
    ///   - known: what the index and the disk hold for the keys and contacts of `items`.
    ///   - circumstances: network, room, hosts and time.
    /// - Throws: `invalidKey` for a contact with photos whose id cannot be part of a key; an error of the rules'
    ///   `requestFields`.
    package mutating func plan(
        _ items: [SyncItem],
        known: SyncSnapshot,
        in circumstances: SyncCircumstances
    ) throws -> [SyncStep] {
        var context = Context(known: known, circumstances: circumstances)
        for case .photos(let listed) in items { context.withPhotos.insert(KeyFingerprint(listed.contact)) }
        var steps: [SyncStep] = []
        for item in items { try plan(item, in: context, into: &steps) }
        return steps
    }

    /// The steps that follow when the current candidate of `chain` turned out to have no image.
    package mutating func advance(
        _ chain: CandidateChain,
        known: SyncSnapshot,
        in circumstances: SyncCircumstances
    ) throws -> [SyncStep] {
        var chain = chain
        chain.position += 1
        chain.ownsTarget = false
        var steps: [SyncStep] = []
        try plan(chain, in: Context(known: known, circumstances: circumstances), into: &steps)
        return steps
    }

    /// The inputs of one call.
    private struct Context {
        let known: SyncSnapshot
        let circumstances: SyncCircumstances
        /// The contacts whose records have photos too: these are not photos of an earlier list.
        var withPhotos: Set<KeyFingerprint> = []

        /// The photos that `contact` has from an earlier list.
        func formerPhotos(of contact: String) -> [AvatarKey] {
            let photos = known.images(of: contact).filter(\.isContactPhoto)
            return photos.isEmpty || withPhotos.contains(KeyFingerprint(contact)) ? [] : photos
        }
    }

    private mutating func plan(
        _ item: SyncItem,
        in context: Context,
        into steps: inout [SyncStep]
    ) throws {
        switch item {
        case .entry(let entry) where entry.isKnownNone:
            steps.append(.settled)
        case .entry(let entry):
            steps.append(.image(try classify(entry.key, entry, in: context)))
        case .image(let image):
            noteContact(image.contact, &steps)
            try plan(image, in: context, into: &steps)
        case .candidates(let keys, let contact, let lowDataURL, let byEmail, let place):
            noteContact(contact, &steps)
            let linked = Set(context.known.images(of: contact))
            let hasSavedImage = linked.contains(where: \.isSaved)
            // No service is asked for an image of a contact that has one of its own.
            if hasSavedImage, keys.first?.isEmailImage == true {
                return steps.append(.withoutImage(contact: contact, former: []))
            }
            var chain = CandidateChain(contact: contact, candidates: keys, lowDataURL: lowDataURL, linked: linked)
            (chain.byEmail, chain.place) = (hasSavedImage ? [] : byEmail, place)
            for key in keys { chain.sources[key] = context.known.source(for: key) }
            let photos = context.formerPhotos(of: contact)
            if !photos.isEmpty { steps.append(.replace(contact: contact, former: photos, by: keys + byEmail)) }
            try plan(chain, in: context, into: &steps)
        case .withoutImage:
            contactCount += 1
            steps += [.contact, .withoutImage(contact: nil, former: [])]
        case .photos(let listed):
            // With a URL, the item for it follows.
            if !listed.hasURL { noteContact(listed.contact, &steps) }
            steps.append(.photos(try PlannedPhotos(listed, linked: context.known.images(of: listed.contact))))
        case .postponed(let count, let reason):
            steps.append(.postponed(count, reason))
        case .unreadable(let place, let reason):
            hasUnreadableRecord = true
            steps.append(.unreadable(place, reason: reason))
        case .duplicate(let record):
            steps.append(.duplicate(record))
        case .contact, .nothingYet, .reduced, .clash:
            break
        }
    }

    /// Notes a contact for which the list has an image, or a source to ask for one.
    private mutating func noteContact(_ contact: String, _ steps: inout [SyncStep]) {
        contactCount += 1
        if rules.prunes || rules.notesImages { _ = withImages.insert(contact) }
        steps.append(.contact)
    }

    // MARK: One image

    private mutating func plan(
        _ listed: ListedImage,
        in context: Context,
        into steps: inout [SyncStep]
    ) throws {
        let (url, contact) = (listed.url, listed.contact)
        let key: AvatarKey
        switch listed.parsed {
        case .success(let parsed): key = parsed
        case .failure(let error):
            guard named.insert(url) else { return steps.append(.settled) }
            // A list of bare URLs names its contacts by them, and this one may hold a password.
            let contact = contact == url ? nil : contact
            return steps.append(.refused(AvatarKey.redact(url), contact: contact, error, at: listed.place))
        }
        let photos = context.formerPhotos(of: contact)
        if !photos.isEmpty { steps.append(.replace(contact: contact, former: photos, by: [key])) }
        let entry = context.known.entry(for: key)
        guard named.insert(key.rawValue) else {
            return steps.append(.image(PlannedImage(key: key, entry: entry, contact: contact, action: .share)))
        }
        var image = try classify(key, entry, contact: contact, lowDataURL: listed.lowDataURL, in: context)
        image.place = listed.place
        steps.append(.image(image))
    }

    private mutating func classify(
        _ key: AvatarKey,
        _ entry: AvatarEntry?,
        contact: String? = nil,
        lowDataURL: String? = nil,
        chain: CandidateChain? = nil,
        in context: Context
    ) throws -> PlannedImage {
        var image = PlannedImage(key: key, entry: entry, contact: contact, action: .share)
        image.hasFile = context.known.hasFile(entry)
        image.chain = chain
        var target: FetchTarget
        do throws(AvatarStoreError) {
            let source = chain?.sources[key] ?? context.known.source(for: key)
            target = try FetchTarget(
                key: key,
                source: source?.rawValue,
                entry: entry,
                storageClass: rules.storageClass
            )
            try target.consider(lowDataURL: lowDataURL, isConstrained: rules.isConstrained)
        } catch {
            // The URL of a smaller image that is not one, or an index that was edited by hand.
            image.action = .refuse(error)
            return image
        }
        target.owners = contact.map { [$0] } ?? []
        target.isRefresh = contact == nil && entry != nil
        target.isUnconditional = rules.policy == .reload
        target.hasSuccessor = chain?.hasNext == true
        target.keepsGone = chain?.keepsGone == true
        image.action = try action(for: target, image.hasFile, context)
        return image
    }

    private mutating func action(
        for target: FetchTarget,
        _ hasFile: Bool,
        _ context: Context
    ) throws -> PlannedImage.Action {
        var (target, entry) = (target, target.entry)
        if let answer = context.circumstances.listed?(target) { target.see(answer) }
        // Another machine has an answer of the origin, so an earlier failure of this one is past.
        if case .answer = target.listed { entry = entry?.withoutFailure() }
        let hostReason = context.circumstances.hosts.reasonToSkip(target.host, at: context.circumstances.now)
        let now = context.circumstances.now
        switch try rules.classify(entry, hasFile: hasFile, hostReason: hostReason, at: now) {
        case .keep: return .keep
        case .skip(let reason): return .skip(reason)
        case .request where context.circumstances.isOffline: return .skip(.offline)
        case .request where hasReachedLimit: return .skip(.limit)
        case .request(isNew: true) where target.storageClass == .caches && !context.circumstances.hasRoom:
            return .leaveOut
        case .request(let isNew):
            requestCount += 1
            named.mark(target.key.rawValue, true)
            return .request(target, isNew: isNew)
        }
    }

    // MARK: Candidates

    /// Plans the first candidate of `chain`, from its position on, that may have an image.
    private mutating func plan(
        _ chain: CandidateChain,
        in context: Context,
        into steps: inout [SyncStep]
    ) throws {
        var chain = chain
        while let key = chain.current {
            let entry = context.known.entry(for: key)
            guard try isPassedOver(entry, in: chain, context) else {
                return try plan(chain, key: key, entry: entry, in: context, into: &steps)
            }
            if !chain.linked.contains(key) {
                steps.append(.link(key, contact: chain.contact, keepsGone: chain.keepsGone))
            }
            chain.position += 1
        }
        if let next = chain.emailChain { return try plan(next, in: context, into: &steps) }
        let former = rules.prunes ? chain.linked.filter { !chain.candidates.contains($0) && !$0.isSaved } : []
        steps.append(.withoutImage(contact: chain.contact, former: Array(former)))
    }

    private mutating func plan(
        _ chain: CandidateChain,
        key: AvatarKey,
        entry: AvatarEntry?,
        in context: Context,
        into steps: inout [SyncStep]
    ) throws {
        var (chain, entry) = (chain, entry)
        var image = PlannedImage(key: key, entry: entry, contact: chain.contact, action: .share)
        image.isLinked = isLinked(chain, context.known)
        if isInFlight(key) {
            image.action = .wait
            image.chain = chain
        } else if named.insert(key.rawValue) {
            // A list asks an e-mail source again, however recent its answer.
            if entry?.isKnownNone == true { entry = entry?.withoutFailure() }
            chain.ownsTarget = true
            let lowDataURL = chain.position == 0 ? chain.lowDataURL : nil
            let isLinked = image.isLinked
            image = try classify(key, entry, contact: chain.contact, lowDataURL: lowDataURL, chain: chain, in: context)
            (image.isLinked, image.place) = (isLinked, chain.place)
        } else {
            image.action = .share
            image.chain = chain
        }
        steps.append(.image(image))
    }

    /// Whether the current candidate has no image, and gets no request now.
    private func isPassedOver(
        _ entry: AvatarEntry?,
        in chain: CandidateChain,
        _ context: Context
    ) throws -> Bool {
        guard let entry else { return false }
        let wasNamed = named.contains(entry.key.rawValue)
        if entry.isIgnored {
            guard chain.hasNextIfIgnored, !isInFlight(entry.key) else { return false }
            if wasNamed { return true }
            if case .request = try decision(entry, context) { return false }
            return true
        }
        if chain.isByEmail {
            guard !isInFlight(entry.key), entry.isKnownNone else { return false }
            return wasNamed || rules.believes(entry, at: context.circumstances.now)
        }
        guard chain.hasNext, entry.hasNothing else { return false }
        if !isInFlight(entry.key), wasNamed { return true }
        if case .skip = try decision(entry, context) { return true }
        return false
    }

    /// The decision about an entry without a file.
    private func decision(_ entry: AvatarEntry, _ context: Context) throws -> SyncDecision {
        let host = entry.sourceURL.flatMap { AvatarKey(stored: $0).host?.description }
        let hostReason = host.flatMap { context.circumstances.hosts.reasonToSkip($0, at: context.circumstances.now) }
        return try rules.classify(entry, hasFile: false, hostReason: hostReason, at: context.circumstances.now)
    }

    /// Whether the index says already that the current candidate is the contact's one fetched image.
    private func isLinked(_ chain: CandidateChain, _ known: SyncSnapshot) -> Bool {
        guard let key = chain.current, chain.linked.contains(key) else { return false }
        let others = chain.linked.subtracting(chain.candidates.prefix(chain.position + 1)).filter { !$0.isOwnImage }
        guard chain.isByEmail else { return others.isEmpty }
        // Later sources that had none stay linked; an image that was shown until now gives way.
        return others.allSatisfy { chain.candidates.contains($0) && known.entry(for: $0)?.file == nil }
    }

    /// Images of earlier lists that have no image and are not candidates any more: to unlink before the items are planned.
    /// An image that is stored stays until another one has come.
    package static func formerImages(
        of items: [SyncItem],
        _ known: SyncSnapshot
    ) -> [(contact: String, key: AvatarKey)] {
        var former: [(contact: String, key: AvatarKey)] = []
        for case .candidates(let keys, let contact, _, let byEmail, _) in items {
            let isByEmail = keys.first?.isEmailImage == true
            for key in known.images(of: contact) where !keys.contains(key) && !byEmail.contains(key) {
                guard let entry = known.entry(for: key) else { continue }
                let hasNothing = isByEmail ? key.isEmailImage && entry.file == nil : key.isURL && entry.hasNothing
                if hasNothing { former.append((contact, key)) }
            }
        }
        return former
    }

    // MARK: Contacts that left

    /// Whether contacts are unlinked that the list omits or gives no image. Only a list that was read to its end, and
    /// every record of it, says which contacts it omits; a list without contacts says nothing.
    package var mayPrune: Bool { rules.prunes && !hasUnreadableRecord && contactCount > 0 }

    /// Those of `contacts` for which the list has no image.
    package func leavers(among contacts: [String]) -> [String] {
        contacts.filter { !withImages.contains($0) }
    }
}
