import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter
import Logging

// The inputs of a plan: rules from the options, hosts from the index, and the state of the items in index and disk.

extension SyncRules {
    /// The rules by which a sync with `options` classifies its items.
    ///
    /// - Parameter limits: the limits of the sync, with its rules of freshness.
    init(options: SyncOptions, limits: Limits, fetching: FetchParts) {
        self.init(policy: options.policy, checksAll: options.checksAll)
        isConstrained = fetching.isConstrained(options.isConstrained)
        refusesAddresses = fetching.refusesAddresses
        ignoresPauses = options.ignoresPauses
        // The freshness in the index was judged for the store's own mode; in `offlineFirst` without the request's
        // fields.
        let isJudged = options.mode == nil && limits.freshness.mode == .offlineFirst
        freshness = isJudged ? nil : limits.freshness
        requestFields = { try fetching.requestFields(for: $0) }
        storageClass = options.storage.storageClass
        requestLimit = options.limit
        prunes = options.prunes
        emailRecheckMilliseconds = Int64(min(options.emailRecheck / .milliseconds(1), Double(Int64.max / 2)))
    }
}

extension SyncHosts {
    /// The hosts that failed at their last request, or are paused until after `now`.
    ///
    /// - Parameter timeLimit: the time that the sync may spend on one host; `nil` for no limit.
    /// - Throws: an error of the index.
    init(_ index: AvatarIndex, _ options: SyncOptions, timeLimit: Duration?, at now: Timestamp) throws {
        self.init(try index.ailingHosts(at: now), timeLimit: timeLimit, ignoresPauses: options.asksPausedHosts)
    }
}

/// Looks up what index and disk hold for the items of a sync.
struct SyncLookup {
    /// The index and the published files of an open store.
    let parts: StoreParts

    /// The index of the store.
    private var index: AvatarIndex { parts.index }

    /// The state of `items` in index and disk, and the files that are missing or have another length than the index
    /// says.
    ///
    /// - Throws: an error of the index.
    func snapshot(for items: [SyncItem]) throws -> (known: SyncSnapshot, lost: [FileRecord]) {
        // The plan for an entry of the index has it at hand; only its file is looked at.
        var due: [AvatarEntry] = []
        var images: [(contact: String, keys: [AvatarKey])] = []
        var listed: [String] = []
        var reduced: [ReducedURL] = []
        for item in items {
            switch item {
            case .entry(let entry): due.append(entry)
            case .image(let image): if image.key != nil { listed.append(image.contact) }
            case .candidates(_, let contact, _, _, _): images.append((contact, try index.imageKeys(of: contact)))
            case .photos(let photos): images.append((photos.contact, try index.imageKeys(of: photos.contact)))
            case .reduced(let url): reduced.append(url)
            case .postponed, .withoutImage, .unreadable, .duplicate, .contact, .nothingYet, .clash: break
            }
        }
        var named: Set<AvatarKey> = []
        for item in items { item.forEachKey { named.insert($0) } }
        var entries = try index.entries(for: Array(named)).compactMap(\.self)
        let lost = self.lost(among: due) + self.lost(among: entries)
        let former = images.flatMap(\.keys).filter { !$0.isOwnImage && !named.contains($0) }
        entries += try index.entries(for: former).compactMap(\.self)
        // For a contact with one URL, the plan needs only the photos that are linked to it.
        images += zip(listed, try index.photoKeys(of: listed)).filter { !$1.isEmpty }.map { ($0, $1) }
        return (SyncSnapshot(entries: entries, lost: Set(lost.map(\.id)), images: images, reduced: reduced), lost)
    }

    /// The state of the candidates of `chain` after the current one, as `snapshot(for:)`.
    ///
    /// - Throws: an error of the index.
    func snapshot(for chain: CandidateChain) throws -> (known: SyncSnapshot, lost: [FileRecord]) {
        let keys = Array(chain.candidates.dropFirst(chain.position + 1) + chain.byEmail)
        let entries = try index.entries(for: keys).compactMap(\.self)
        let lost = self.lost(among: entries)
        return (SyncSnapshot(entries: entries, lost: Set(lost.map(\.id)), images: []), lost)
    }

    /// The files of `entries` that are missing or have another length. A user or the system may have emptied the
    /// caches.
    ///
    /// A file that the disk cannot answer for is not lost: its image stays, and the sync goes on with the others.
    private func lost(among entries: [AvatarEntry]) -> [FileRecord] {
        entries.compactMap(\.file).filter { file in
            do throws(AvatarStoreError) {
                return try !parts.roots.contains(file)
            } catch {
                parts.configuration.logger.warning("a file could not be looked at", metadata: ["error": "\(error)"])
                return false
            }
        }
    }
}

extension SyncItem {
    /// Passes on the keys of the images at URLs that a list names, and of stored ones that the sync takes over under other keys.
    func forEachKey(_ body: (AvatarKey) -> Void) {
        switch self {
        case .image(let image): image.key.map(body)
        case .candidates(let candidates, _, _, let byEmail, _):
            candidates.forEach(body)
            byEmail.forEach(body)
        case .reduced(let url): url.former.map(body)
        case .entry, .postponed, .withoutImage, .photos, .unreadable, .duplicate, .contact, .nothingYet, .clash: break
        }
    }
}
