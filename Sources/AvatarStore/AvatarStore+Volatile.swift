public import AvatarCore
import AvatarIndex
import AvatarWriter

extension AvatarStore {
    /// The volatile parameters of URLs, in the order of the hosts.
    ///
    /// - Throws: an error of the index.
    public func volatileQueries() throws -> [VolatileQuery] { try index.volatileQueries().all }

    /// Leaves the parameters of `query` out of the keys of the URLs of its host, for all processes that use the store. It replaces
    /// the parameters that the host had.
    ///
    /// From the next sync on, a contact whose URL differs in these parameters alone keeps its image, under the key without them, and
    /// the latest URL is the one that is fetched. A read by URL finds the image too. No contact gets the image of another one by
    /// that: where the list, or the index, has several contacts for one key and different URLs, the whole URLs stay the keys
    /// (`SyncReport.queryClashes`). With `*` as the name, which may cover a parameter that tells persons apart, only contacts of
    /// lists keep their images; a read needs the latest URL.
    ///
    /// - Throws: `invalidConfiguration` beyond 256 hosts; `readOnly` in a store that is open for reading only; an error of the
    ///   index or the disk.
    public func setVolatileQuery(_ query: VolatileQuery) async throws {
        try await requireWritable().writer.changeVolatileQueries(ofHost: query.host) {
            queries throws(AvatarStoreError) in
            try queries.setting(query)
        }
    }

    /// Makes all parameters of the URLs of `host` part of their keys again. The next sync of a list fetches the images at the whole
    /// URLs.
    ///
    /// - Throws: `readOnly` in a store that is open for reading only; an error of the index or the disk.
    public func removeVolatileQuery(ofHost host: String) async throws {
        try await requireWritable().writer.changeVolatileQueries(ofHost: host) { $0.removing(host) }
    }

    /// The key under which the store has the image at `address`: the key of `address`, or the key without volatile parameters
    /// (`VolatileQuery`).
    ///
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; an error of the index.
    public func storedKey(for address: some AvatarAddress) throws -> AvatarKey {
        try place(of: address.avatarKey).key
    }

    /// The key of the image at the URL `key`, and the URL to fetch it from; `nil` for the one that the index has.
    ///
    /// - Throws: an error of the index.
    func place(of key: AvatarKey) throws -> (key: AvatarKey, source: String?) {
        guard key.isURL, key.rawValue.utf8.contains(UInt8(ascii: "?")) else { return (key, nil) }
        guard let query = try index.volatileQueries().query(for: key) else { return (key, nil) }
        let short = key.without(query)
        guard short != key, try index.entry(for: key) == nil else { return (key, nil) }
        let entry = try index.entry(for: short)
        if entry?.sourceURL == key.rawValue { return (short, nil) }
        // Without a contact nothing shows whose image it is.
        guard !query.coversAll, try !index.clashingHosts().contains(query.host) else { return (key, nil) }
        // A URL of a read may be older than that of the list.
        let isListed = try entry != nil && !index.contacts(using: short).isEmpty
        return (short, isListed ? nil : key.rawValue)
    }

    /// Reads the image of `key`, or else that under the key without volatile parameters.
    func readPlaced<Result>(_ key: AvatarKey, _ read: (AvatarKey) throws -> Result?) throws -> Result? {
        if let result = try read(key) { return result }
        let short = try place(of: key).key
        return short == key ? nil : try read(short)
    }
}

extension AvatarIndex {
    /// The volatile parameters of URLs.
    ///
    /// - Throws: `damagedIndex` for a value that no call has set; an error of the index.
    func volatileQueries() throws -> VolatileQueries {
        try VolatileQueries(stored: textSetting(TextSetting.volatileQuery.name))
    }

    /// The hosts of volatile parameters of which a sync found contacts that only these tell apart.
    package func clashingHosts() throws -> Set<String> {
        Set(try textSetting(TextSetting.clashingHosts)?.split(separator: "\n").map(String.init) ?? [])
    }
}

extension StoreWriter {
    /// Changes the volatile parameters. Clashes of `host` are forgotten: they were those of the parameters before.
    fileprivate func changeVolatileQueries(
        ofHost host: String,
        _ change: (VolatileQueries) throws(AvatarStoreError) -> VolatileQueries
    ) throws {
        try evictor.makingRoom { _ in
            try write { transaction in
                let name = TextSetting.volatileQuery.name
                let queries = try VolatileQueries(stored: transaction.textSetting(name))
                try transaction.setTextSetting(name, to: try change(queries).text)
                let clashing = try transaction.textSetting(TextSetting.clashingHosts)?.split(separator: "\n") ?? []
                let others = clashing.filter { $0 != host }.joined(separator: "\n")
                try transaction.setTextSetting(TextSetting.clashingHosts, to: others.isEmpty ? nil : others)
            }
        }
    }

    /// Remembers that contacts have different images under one key without the volatile parameters of `hosts`, so that reads by
    /// URL do not use such keys.
    func noteClashes(of hosts: [String]) throws {
        try write { transaction in
            let known = try transaction.textSetting(TextSetting.clashingHosts)?.split(separator: "\n").map(String.init)
            let all = Set(known ?? []).union(hosts).sorted().prefix(VolatileQuery.maximumHosts)
            try transaction.setTextSetting(TextSetting.clashingHosts, to: all.joined(separator: "\n"))
        }
    }
}
