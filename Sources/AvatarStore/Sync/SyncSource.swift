import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarReports

/// The source of a sync's items: a contact list, the due entries, or all entries. Each walk starts at the beginning.
struct SyncSource: Sendable {
    /// Returns the items of the next `limit` records or entries, and no items at the end. If the source counts its rest,
    /// a limit of 0 returns the count of the rest instead.
    typealias Walk = (_ limit: Int) async throws -> [SyncItem]

    /// Whether a walk can count its rest without reading it.
    var countsRest = false
    /// Whether the items are only the due entries, so that the store may have fresh ones besides.
    var omitsFresh = false
    /// The images of cards at the servers of their sources, as far as the source was read; `nil` without such servers.
    var named: ImagesAtSources?
    /// Begins a walk.
    let makeWalk: @Sendable () -> Walk

    /// A walk ends a page once its embedded photos have this many bytes in all.
    private static let mostPhotoBytes = 4 << 20

    /// The number of records surveyed per page, so that the sync can handle signals in between.
    private static let mostSurveyed = 4096

    /// The images that a contact list names.
    ///
    /// The first walk begins with a survey of the whole list. Records that the survey kept are not read again.
    ///
    /// - Parameter makeSpool: creates the file that keeps the records of a long list; `nil` to read them from the list again.
    /// - Parameter emailSources: the services to request for contacts without an image of their own, in this order.
    /// - Parameter ignored: the digests of images that count as none.
    /// - Parameter named: notes the images of cards at the servers of their sources.
    /// - Parameter queries: the volatile parameters of URLs, and the index that has the keys without them.
    static func list<Records>(
        _ records: Records,
        spooledTo makeSpool: (@Sendable () throws -> RecordSpool)?,
        emailSources: [EmailSource],
        ignoring ignored: Set<[UInt8]>,
        reducing queries: VolatileQueries,
        noting named: ImagesAtSources?,
        in index: AvatarIndex
    ) -> SyncSource
    where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        let shared = SharedSurvey()
        return SyncSource(named: named) {
            var survey = ListSurvey(spooledTo: makeSpool, queries)
            var keys: VolatileKeys?
            // A sequence that can be read only once may refuse a second iterator, so none is made before it is used.
            var iterator: Records.AsyncIterator?
            var reader: RecordSpool.Reader?
            var position = 0
            return { limit in
                guard let list = shared.found else {
                    var list = iterator ?? records.makeAsyncIterator()
                    for _ in 0..<Self.mostSurveyed {
                        guard let record = try await list.next(isolation: #isolation) else {
                            try survey.finish()
                            shared.found = survey
                            iterator = nil
                            return [.nothingYet]
                        }
                        try survey.add(record)
                    }
                    iterator = list
                    return [.nothingYet]
                }
                var items: [SyncItem] = []
                var bytes = 0
                if keys == nil, !queries.isEmpty { keys = VolatileKeys(index, list.volatile) }
                keys?.beginPage()
                let end = position + limit
                while position < end, bytes < Self.mostPhotoBytes {
                    let next: ContactRecord?
                    switch list.records {
                    case .memory(let kept):
                        next = position < kept.count ? kept[position] : nil
                    case .file(let spool):
                        if reader == nil { reader = RecordSpool.Reader(spool) }
                        next = try reader?.next()
                    case .list:
                        if iterator == nil { iterator = records.makeAsyncIterator() }
                        next = try await iterator?.next(isolation: #isolation)
                    }
                    guard let record = next else {
                        try list.requireCount(position)
                        break
                    }
                    let found = list.duplicate(record, at: position).map { [SyncItem.duplicate($0)] }
                    if found == nil { named?.note(record) }
                    let new = try found ?? SyncItem.items(of: record, emailSources, ignored, &keys)
                    for case .photos(let listed) in new { bytes += listed.byteCount }
                    items += new
                    position += 1
                }
                return items
            }
        }
    }

    /// The entries that are due at `time`, of hosts that may get requests; a few of each host in turn.
    ///
    /// - Parameter ignoresPauses: whether to include hosts that are paused because they kept failing.
    static func due(in index: AvatarIndex, at time: Timestamp, ignoresPauses: Bool) -> SyncSource {
        SyncSource(countsRest: true, omitsFresh: true) {
            var walks: [DueWalk]?
            var blocked: [(host: DueHost, reason: SkipReason)] = []
            return { limit in
                var waiting = walks ?? []
                if walks == nil {
                    for host in try index.dueHosts(at: time) {
                        let health = ignoresPauses ? host.health.withoutOwnPause : host.health
                        if let reason = health.reasonToSkip(host.name, at: time) {
                            blocked.append((host, reason))
                        } else {
                            waiting.append(DueWalk(over: host))
                        }
                    }
                }
                let items =
                    limit > 0 ? try index.dueEntries(of: &waiting, at: time, limit: limit).map(SyncItem.entry) : []
                walks = waiting
                guard items.isEmpty else { return items }
                // Counting takes time in proportion to the entries, so it is done last, when no request waits for it.
                let rest = waiting.map { ($0, SkipReason.limit) } + blocked.map { (DueWalk(over: $0.host), $0.reason) }
                (walks, blocked) = ([], [])
                return try rest.compactMap { walk, reason in
                    let count = try index.dueCount(of: walk, at: time)
                    return count > 0 ? .postponed(count, reason) : nil
                }
            }
        }
    }

    /// All entries that have an origin, except evicted ones.
    static func everything(in index: AvatarIndex) -> SyncSource {
        SyncSource(countsRest: true) {
            var last = Int64.min
            return { limit in
                guard limit > 0 else {
                    let count = try index.fetchableCount(after: last)
                    last = .max
                    return count > 0 ? [.postponed(count, .limit)] : []
                }
                let entries = try index.fetchableEntries(after: last, limit: limit)
                if let entry = entries.last { last = entry.id }
                return entries.map(SyncItem.entry)
            }
        }
    }
}

extension SyncItem {
    /// The items for `record`: the contact, the image at a URL, and the embedded photos.
    ///
    /// - Parameter keys: finds the keys of URLs with volatile parameters; `nil` if no host has such.
    /// - Throws: `unsupportedURL`, as `AvatarKey.init(url:)`, for the URL of an e-mail source; an error of the index.
    fileprivate static func items(
        of record: ContactRecord,
        _ sources: [EmailSource],
        _ ignored: Set<[UInt8]>,
        _ keys: inout VolatileKeys?
    ) throws -> [SyncItem] {
        switch record {
        case .contact(let listed):
            if let fault = listed.idFault { return [.unreadable(listed.place, reason: fault)] }
            let (contact, volatile) = try keys?.reduce(listed) ?? (listed, [])
            let images =
                try volatile + images(of: contact.without(ignored), sources, asksBehindURLs: !ignored.isEmpty)
            // A list of bare URLs names its contacts by them. One that is refused may hold a password.
            guard listed.id != listed.avatarURL else { return images }
            let named = ListedContact(id: contact.id, name: contact.name, list: contact.place?.list)
            return [.contact(named, emails: contact.emails)] + images
        case .unreadable(let line, let reason, let list, let record):
            return [.unreadable(ListPlace(list: list, line: line, record: record), reason: reason)]
        }
    }

    /// The items for the images of `contact`.
    ///
    /// - Parameter asksBehindURLs: whether e-mail sources follow a URL whose image is ignored.
    private static func images(
        of contact: Contact,
        _ sources: [EmailSource],
        asksBehindURLs: Bool
    ) throws(AvatarStoreError) -> [SyncItem] {
        let photos = ListedPhotos(contact).map { [SyncItem.photos($0)] } ?? []
        guard let url = contact.avatarURL else {
            guard photos.isEmpty else { return photos }
            let candidates = try emailImages(of: contact, sources)
            return candidates.isEmpty
                ? [.withoutImage] : [.candidates(candidates, contact: contact.id, place: contact.place)]
        }
        let byEmail = asksBehindURLs ? try emailImages(of: contact, sources) : []
        let candidates = byEmail.isEmpty ? contact.candidates : contact.allURLs
        guard candidates.count > 1 || !candidates.isEmpty && !byEmail.isEmpty else {
            let only = candidates.first?.rawValue ?? url
            return photos + [
                .listed(url: only, contact: contact.id, lowDataURL: contact.lowDataURL, place: contact.place)
            ]
        }
        return photos + [
            .candidates(
                candidates,
                contact: contact.id,
                lowDataURL: contact.lowDataURL,
                byEmail: byEmail,
                place: contact.place
            )
        ]
    }

    /// The candidates that e-mail sources may have for `contact`: those of the first source for all addresses, then
    /// those of the next source.
    private static func emailImages(
        of contact: Contact,
        _ sources: [EmailSource]
    ) throws(AvatarStoreError) -> [AvatarKey] {
        var candidates: [AvatarKey] = []
        for source in sources {
            for url in contact.emails.compactMap(source.url) {
                let key = try AvatarKey(emailImageAt: url)
                if !candidates.contains(key) { candidates.append(key) }
            }
        }
        return candidates
    }
}

extension Contact {
    /// The keys of the images at URLs, in order and without repetition; empty if the contact has fewer than two. Texts
    /// that are not URLs are left out.
    fileprivate var candidates: [AvatarKey] {
        images.count { $0.url != nil } > 1 ? allURLs : []
    }

    /// The keys of the images at URLs, in order and without repetition. Texts that are not URLs are left out.
    fileprivate var allURLs: [AvatarKey] {
        images.compactMap(\.url).compactMap(AvatarKey.init(listed:)).reduce(into: []) { keys, key in
            if !keys.contains(key) { keys.append(key) }
        }
    }

    /// The same contact without the photos that are ignored.
    fileprivate func without(_ ignored: Set<[UInt8]>) -> Contact {
        guard !ignored.isEmpty else { return self }
        var contact = self
        contact.images.removeAll { image in
            guard case .photo(let photo) = image else { return false }
            return ignored.contains(photo.sha256)
        }
        return contact
    }
}

/// An array of contacts as an asynchronous sequence of records.
struct ContactArray: RepeatableRecords, Sendable {
    typealias Element = ContactRecord
    let contacts: [Contact]

    func makeAsyncIterator() -> Iterator {
        Iterator(rest: contacts[...])
    }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<Contact>

        mutating func next() async -> ContactRecord? {
            rest.popFirst().map(ContactRecord.contact)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> ContactRecord? {
            rest.popFirst().map(ContactRecord.contact)
        }
    }
}

extension ContactPhoto {
    /// The SHA-256 of its bytes.
    var sha256: [UInt8] { digest ?? ContentDigest.sha256(bytes) }
}
