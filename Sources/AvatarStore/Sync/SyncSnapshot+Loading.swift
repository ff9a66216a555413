import AvatarCore
import AvatarFiles
import AvatarIndex

/// The inputs of a plan: rules from the options, hosts from the index, and what index and disk hold for the items.
extension AvatarStore {
    func syncRules(_ options: SyncOptions, _ limits: Limits) throws -> SyncRules {
        var rules = SyncRules(policy: options.policy, checksAll: options.checksAll)
        rules.isConstrained = isConstrained(options.isConstrained)
        rules.refusesAddresses = refusesAddresses
        rules.ignoresPauses = options.ignoresPauses
        // The judgement in the index was made for the store's own mode, in `offlineFirst` without the request's fields.
        let isJudged = options.mode == nil && limits.freshness.mode == .offlineFirst
        rules.freshness = isJudged ? nil : limits.freshness
        rules.requestFields = { [self] in try requestFields(for: $0) }
        rules.storageClass = options.storage.storageClass
        rules.requestLimit = options.limit
        rules.prunes = options.prunes
        rules.emailRecheckMilliseconds = Int64(min(options.emailRecheck / .milliseconds(1), Double(Int64.max / 2)))
        return rules
    }

    func syncHosts(_ options: SyncOptions, timeLimit: Duration?, at now: Timestamp) throws -> SyncHosts {
        SyncHosts(try index.ailingHosts(at: now), timeLimit: timeLimit, ignoresPauses: options.asksPausedHosts)
    }

    /// What index and disk hold for `items`, and the files that are not where the index says.
    ///
    /// - Throws: an error of the index.
    func snapshot(for items: [SyncItem]) throws -> (known: SyncSnapshot, lost: [FileRecord]) {
        var keys: [AvatarKey] = []
        var entries: [AvatarEntry] = []
        var images: [(contact: String, keys: [AvatarKey])] = []
        var listed: [String] = []
        for item in items {
            switch item {
            case .entry(let entry):
                entries.append(entry)
            case .listed(let url, let contact, _):
                guard let key = AvatarKey(listed: url) else { continue }
                keys.append(key)
                listed.append(contact)
            case .candidates(let candidates, let contact, _):
                keys += candidates
                images.append((contact, try index.imageKeys(of: contact)))
            case .photos(let photos):
                images.append((photos.contact, try index.imageKeys(of: photos.contact)))
            case .postponed, .withoutImage, .unreadable, .duplicate, .nothingYet:
                break
            }
        }
        let named = Set(keys)
        entries += try index.entries(for: Array(named)).compactMap(\.self)
        let lost = self.lost(among: entries)
        let former = images.flatMap(\.keys).filter { !$0.isOwnImage && !named.contains($0) }
        entries += try index.entries(for: former).compactMap(\.self)
        // Of a contact with one URL only the photos matter.
        images += zip(listed, try index.photoKeys(of: listed)).filter { !$1.isEmpty }.map { ($0, $1) }
        return (SyncSnapshot(entries: entries, lost: Set(lost.map(\.id)), images: images), lost)
    }

    /// What index and disk hold for the candidates of `chain` after the present one, as `snapshot(for:)`.
    ///
    /// - Throws: an error of the index.
    func snapshot(for chain: CandidateChain) throws -> (known: SyncSnapshot, lost: [FileRecord]) {
        let keys = Array(chain.candidates.dropFirst(chain.position + 1))
        let entries = try index.entries(for: keys).compactMap(\.self)
        let lost = self.lost(among: entries)
        return (SyncSnapshot(entries: entries, lost: Set(lost.map(\.id)), images: []), lost)
    }

    /// The files of `entries` that are gone, or have another length: a user or the system may have emptied the caches.
    private func lost(among entries: [AvatarEntry]) -> [FileRecord] {
        entries.compactMap(\.file).filter { !roots.contains($0) }
    }
}
