import AvatarCore
import AvatarIndex

/// Something that a sync has to settle.
enum SyncItem: Sendable {
    /// An image named by a list, and the contact that uses it.
    case listed(url: String, contact: String, lowDataURL: String? = nil)
    /// Several images for one contact; the next is used while the origin has none for the one before.
    case candidates([AvatarKey], contact: String, lowDataURL: String?)
    /// An entry of the index.
    case entry(AvatarEntry)
    /// A number of entries that are skipped now, and why.
    case postponed(Int, SkipReason)
    case withoutImage
    /// A contact without a picture of its own, and its e-mail addresses.
    case emailed(contact: String, emails: [String])
    /// The images of a contact that stand in the list itself.
    case photos(ListedPhotos)
    case unreadable(ListPlace?, reason: String)
    /// A record that does not count.
    case duplicate(DuplicateRecord)
    /// The list is being read for the first time.
    case nothingYet
}

extension ListPlace {
    /// A report's failure for `reason` at this place: `people.vcf, line 4: reason`.
    func failure(
        _ kind: FailureKind,
        _ reason: String,
        key: String? = nil,
        contact: String? = nil
    ) -> SyncReport.Failure {
        let message = "\(list.map { "\($0), line" } ?? "Line") \(line): \(reason)"
        return SyncReport.Failure(key: key, kind: kind, message: message, contact: contact, list: list, line: line)
    }
}

extension SyncReport.Failure {
    /// A record that cannot be read, at a place that its reader may not have said.
    static func unreadable(_ reason: String, at place: ListPlace?) -> SyncReport.Failure {
        place?.failure(.badRecord, "\(reason).")
            ?? SyncReport.Failure(key: nil, kind: .badRecord, message: "\(reason).")
    }
}

/// Where a sync gets its work from; each walk starts at the beginning.
struct SyncSource: Sendable {
    /// A walk: the next items, at most `limit` of them; none at the end. Where the rest can be counted, a limit of 0 asks
    /// for its count instead.
    typealias Walk = (_ limit: Int) async throws -> [SyncItem]

    /// Whether a walk can count its rest without reading it.
    var countsRest = false
    let makeWalk: @Sendable () -> Walk

    /// A walk reads no further once it has so many bytes of photos that came inside contacts.
    private static let mostPhotoBytes = 4 << 20

    /// At most this many records are surveyed between two looks at what else there is to do.
    private static let mostSurveyed = 4096

    /// The images that a contact list names.
    ///
    /// The first walk begins with a survey of the whole list. Records that were kept by it are not read again.
    static func list<Records>(_ records: Records) -> SyncSource
    where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        let shared = SharedSurvey()
        return SyncSource {
            var survey = ListSurvey()
            var iterator = records.makeAsyncIterator()
            var position = 0
            return { limit in
                guard let list = shared.found else {
                    for _ in 0..<Self.mostSurveyed {
                        guard let record = try await iterator.next(isolation: #isolation) else {
                            survey.finish()
                            shared.found = survey
                            iterator = records.makeAsyncIterator()
                            break
                        }
                        survey.add(record)
                    }
                    return [.nothingYet]
                }
                var items: [SyncItem] = []
                var bytes = 0
                while items.count < limit, bytes < Self.mostPhotoBytes {
                    let next =
                        if let kept = list.records { position < kept.count ? kept[position] : nil } else {
                            try await iterator.next(isolation: #isolation)
                        }
                    guard let record = next else {
                        try list.requireCount(position)
                        break
                    }
                    let found = list.duplicate(record, at: position).map { [SyncItem.duplicate($0)] }
                    let new = found ?? SyncItem.items(of: record)
                    for case .photos(let listed) in new { bytes += listed.byteCount }
                    items += new
                    position += 1
                }
                return items
            }
        }
    }

    /// The images of `contacts`.
    static func contacts(_ contacts: [Contact]) -> SyncSource {
        list(ContactArray(contacts: contacts))
    }

    /// The entries that are due at `time`, of hosts that may be asked; a few of each host in turn.
    ///
    /// - Parameter ignoresPauses: also of hosts that are paused because they kept failing.
    static func due(in index: AvatarIndex, at time: Timestamp, ignoresPauses: Bool) -> SyncSource {
        SyncSource(countsRest: true) {
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
                // Counting takes as long as there are entries, so it comes when nobody waits for it any more.
                let rest = waiting.map { ($0, SkipReason.limit) } + blocked.map { (DueWalk(over: $0.host), $0.reason) }
                (walks, blocked) = ([], [])
                return try rest.compactMap { walk, reason in
                    let count = try index.dueCount(of: walk, at: time)
                    return count > 0 ? .postponed(count, reason) : nil
                }
            }
        }
    }

    /// All entries that have an origin, evicted ones apart.
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
    /// What there is to settle about `record`: the image at a URL, and those that stand in the list.
    fileprivate static func items(of record: ContactRecord) -> [SyncItem] {
        switch record {
        case .contact(let contact):
            if let fault = contact.idFault { return [.unreadable(contact.place, reason: fault)] }
            let photos = ListedPhotos(contact).map { [SyncItem.photos($0)] } ?? []
            guard let url = contact.avatarURL else { return photos.isEmpty ? [withoutImage(contact)] : photos }
            let candidates = contact.candidates
            guard candidates.count > 1 else {
                let only = candidates.first?.rawValue ?? url
                return photos + [.listed(url: only, contact: contact.id, lowDataURL: contact.lowDataURL)]
            }
            return photos + [.candidates(candidates, contact: contact.id, lowDataURL: contact.lowDataURL)]
        case .unreadable(let line, let reason, let list):
            return [.unreadable(ListPlace(list: list, line: line), reason: reason)]
        }
    }

    private static func withoutImage(_ contact: Contact) -> SyncItem {
        contact.emails.isEmpty ? .withoutImage : .emailed(contact: contact.id, emails: contact.emails)
    }
}

extension Contact {
    /// The keys of the images at URLs, in order, if there are several; those that cannot be fetched are left out.
    fileprivate var candidates: [AvatarKey] {
        let urls = images.compactMap(\.url)
        guard urls.count > 1 else { return [] }
        return urls.compactMap(SyncRun.key).reduce(into: []) { keys, key in
            if !keys.contains(key) { keys.append(key) }
        }
    }
}

/// Contacts in memory as a list.
private struct ContactArray: AsyncSequence, Sendable {
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
