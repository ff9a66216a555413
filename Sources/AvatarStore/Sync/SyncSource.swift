import AvatarCore
import AvatarIndex

/// Something that a sync has to settle.
enum SyncItem: Sendable {
    /// An image named by a list, and the contact that uses it.
    case listed(url: String, contact: String, lowDataURL: String? = nil)
    /// An entry of the index.
    case entry(AvatarEntry)
    /// So many entries that are not asked for now: their hosts may not be asked, or enough has been asked for.
    case postponed(Int)
    case withoutImage
    /// A contact without a picture of its own, and its e-mail addresses.
    case emailed(contact: String, emails: [String])
    /// The images of a contact that stand in the list itself.
    case photos(ListedPhotos)
    case unreadable(line: Int, reason: String)
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

    /// The images that a contact list names.
    static func list<Records>(_ records: Records) -> SyncSource
    where Records: AsyncSequence & Sendable, Records.Element == ContactRecord {
        SyncSource {
            var iterator = records.makeAsyncIterator()
            return { limit in
                var items: [SyncItem] = []
                var bytes = 0
                while items.count < limit, bytes < Self.mostPhotoBytes,
                    let record = try await iterator.next(isolation: #isolation)
                {
                    let next = SyncItem.items(of: record)
                    for case .photos(let listed) in next { bytes += listed.byteCount }
                    items += next
                }
                return items
            }
        }
    }

    /// The images of `contacts`.
    static func contacts(_ contacts: [Contact]) -> SyncSource {
        SyncSource {
            var rest = contacts[...]
            return { limit in
                defer { rest = rest.dropFirst(limit) }
                return rest.prefix(limit).flatMap { SyncItem.items(of: .contact($0)) }
            }
        }
    }

    /// The entries that are due at `time`, of hosts that may be asked; a few of each host in turn.
    static func due(in index: AvatarIndex, at time: Timestamp) -> SyncSource {
        SyncSource(countsRest: true) {
            var walks: [DueWalk]?
            var blocked: [DueHost] = []
            return { limit in
                var waiting = walks ?? []
                if walks == nil {
                    let (first, second) = try partitioned(index.dueHosts(at: time)) { host in
                        if case .nothing = host.health.admission(at: time) { true } else { false }
                    }
                    blocked = first
                    waiting = second.map { DueWalk(over: $0) }
                }
                let items =
                    limit > 0 ? try index.dueEntries(of: &waiting, at: time, limit: limit).map(SyncItem.entry) : []
                walks = waiting
                guard items.isEmpty else { return items }
                // Counting takes as long as there are entries, so it comes when nobody waits for it any more.
                let rest = waiting + blocked.map { DueWalk(over: $0) }
                (walks, blocked) = ([], [])
                let count = try rest.reduce(0) { try $0 + index.dueCount(of: $1, at: time) }
                return count > 0 ? [.postponed(count)] : []
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
                    return count > 0 ? [.postponed(count)] : []
                }
                let entries = try index.fetchableEntries(after: last, limit: limit)
                if let entry = entries.last { last = entry.id }
                return entries.map(SyncItem.entry)
            }
        }
    }
}

/// The elements for which `belongsInFirst` holds, and the others.
private func partitioned<Element>(
    _ elements: [Element],
    by belongsInFirst: (Element) -> Bool
) -> (first: [Element], second: [Element]) {
    (elements.filter(belongsInFirst), elements.filter { !belongsInFirst($0) })
}

extension SyncItem {
    /// What there is to settle about `record`: the image at a URL, and those that stand in the list.
    fileprivate static func items(of record: ContactRecord) -> [SyncItem] {
        switch record {
        case .contact(let contact):
            let photos = ListedPhotos(contact).map { [SyncItem.photos($0)] } ?? []
            guard let url = contact.avatarURL else { return photos.isEmpty ? [withoutImage(contact)] : photos }
            return photos + [.listed(url: url, contact: contact.id, lowDataURL: contact.lowDataURL)]
        case .unreadable(let line, let reason):
            return [.unreadable(line: line, reason: reason)]
        }
    }

    private static func withoutImage(_ contact: Contact) -> SyncItem {
        contact.emails.isEmpty ? .withoutImage : .emailed(contact: contact.id, emails: contact.emails)
    }
}
