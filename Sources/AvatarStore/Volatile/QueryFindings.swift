import AvatarCore
import AvatarIndex
import AvatarReports

/// Counts the contacts whose URLs keep their volatile parameters.
struct QueryClashes {
    private var byHost: [String: QueryClash] = [:]
    private static let mostExamples = 3

    /// Notes the clashes among `items`.
    mutating func note(_ items: [SyncItem]) {
        for case .clash(let host, let contact) in items {
            byHost[host, default: QueryClash(host: host, contacts: 0, examples: [])].contacts += 1
            if byHost[host].map({ $0.examples.count < Self.mostExamples }) == true {
                byHost[host]?.examples.append(contact)
            }
        }
    }

    /// The hosts in the order of their names.
    var found: [QueryClash] { byHost.values.sorted { $0.host < $1.host } }
}

/// Finds hosts whose URLs change with each list, such as those that are signed.
struct QueryChanges {
    /// The URLs of one host that replace others of the same contacts.
    private struct Host {
        var contacts = 0
        var names: Set<Substring> = []
        /// The keys of some of the URLs.
        var samples: [AvatarKey] = []
    }

    private var hosts: [String: Host] = [:]

    /// The most hosts that are noted, and reported.
    private static let mostHosts = 100
    private static let mostReported = 10
    /// The most URLs of a host whose bytes are compared, and the most stored images for one of them.
    private static let mostSamples = 64
    private static let mostImages = 16
    /// The most parameters that a suggestion names one by one.
    private static let mostNames = 16

    /// Notes the images among `items` that the index does not have.
    ///
    /// - Throws: an error of the index.
    mutating func note(_ items: [SyncItem], _ known: SyncSnapshot, _ index: AvatarIndex) throws {
        for case .image(let image) in items {
            guard let key = image.key, key.rawValue.contains("?"), known.entry(for: key) == nil else { continue }
            let former = try index.fetchedImages(of: image.contact).first { $0.key.withoutQuery == key.withoutQuery }
            if let former { note(key, former: former.key) }
        }
    }

    private mutating func note(_ key: AvatarKey, former: AvatarKey) {
        guard let name = key.host?.name, hosts[name] != nil || hosts.count < Self.mostHosts else { return }
        var host = hosts[name] ?? Host()
        host.contacts += 1
        if host.samples.count < Self.mostSamples { host.samples.append(key) }
        host.names.formUnion(Self.differences(key, former))
        hosts[name] = host
    }

    /// The names of the parameters that only one of two URLs has, or that have different values.
    private static func differences(_ one: AvatarKey, _ other: AvatarKey) -> Set<Substring> {
        func parameters(_ key: AvatarKey) -> [Substring: [Substring]] {
            Dictionary(key.queryParameters.map { ($0.name, [$0.value]) }) { $0 + $1 }
        }
        let (mine, theirs) = (parameters(one), parameters(other))
        return Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }
    }

    // MARK: The suggestions

    /// The hosts, those with most contacts first. A host whose images mostly have other bytes under another query is left out: its
    /// parameters tell versions or persons apart.
    ///
    /// - Throws: an error of the index.
    func found(in index: AvatarIndex) throws -> [ChangingQuery] {
        var found: [ChangingQuery] = []
        for (name, host) in hosts {
            let parameters = Self.parameters(host.names)
            guard let query = Self.query(name, parameters) else { continue }
            let queries = try index.volatileQueries()
            var (same, different) = (0, 0)
            for key in host.samples {
                switch try Self.bytes(of: key, query, in: index) {
                case .some(1): same += 1
                case .some: different += 1
                case nil: break
                }
            }
            guard different <= same / 4 else { continue }
            // The setting replaces the parameters that the host has.
            let known = queries.all.first { $0.host == name }?.parameters ?? []
            found.append(
                ChangingQuery(
                    host: name,
                    contacts: host.contacts,
                    sameBytes: same,
                    parameters: (known + parameters.filter { !known.contains($0) })
                )
            )
        }
        found.sort { ($1.contacts, $0.host) < ($0.contacts, $1.host) }
        return Array(found.prefix(Self.mostReported))
    }

    /// The number of different images that are stored under URLs like `key`; `nil` if fewer than two such URLs have an image.
    private static func bytes(of key: AvatarKey, _ query: VolatileQuery, in index: AvatarIndex) throws -> Int? {
        guard let base = AvatarKey(listed: key.withoutQuery) else { return nil }
        let short = key.without(query)
        let images = try index.images(extending: base, limit: mostImages).filter { $0.key.without(query) == short }
        return images.count < 2 ? nil : Set(images.map(\.sha256)).count
    }

    private static func query(_ host: String, _ parameters: [String]) -> VolatileQuery? {
        do {
            return try VolatileQuery(host: host, parameters: parameters)
        } catch {
            // A name that the setting cannot hold.
            return nil
        }
    }

    /// `names` in order, those of the signatures of object stores as one.
    private static func parameters(_ names: Set<Substring>) -> [String] {
        guard names.count <= mostNames else { return ["*"] }
        let families = ["X-Amz-", "X-Goog-"]
        let short = names.map { name in
            families.first { family in name.hasPrefix(family) }.map { $0 + "*" } ?? String(name)
        }
        return Set(short).sorted()
    }
}
