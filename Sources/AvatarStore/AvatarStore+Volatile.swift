package import AvatarCore
package import AvatarIndex
package import AvatarReports
package import AvatarWriter

extension AvatarStore {
    /// The key under which the store has the image at `address`: the key of `address`, or the key without volatile parameters
    /// (`VolatileQuery`).
    ///
    /// - Throws: `unsupportedURL` for a URL that cannot be a key; an error of the index.
    package func storedKey(for address: some AvatarAddress) throws -> AvatarKey {
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
    package func volatileQueries() throws -> VolatileQueries {
        try VolatileQueries(stored: textSetting(TextSetting.volatileQuery.name))
    }

    /// The hosts of volatile parameters of which a sync found contacts that only these tell apart.
    package func clashingHosts() throws -> Set<String> {
        Set(try textSetting(TextSetting.clashingHosts)?.split(separator: "\n").map(String.init) ?? [])
    }
}

extension StoreWriter {
    /// Changes the volatile parameters. Clashes of `host` are forgotten: they were those of the parameters before.
    package func changeVolatileQueries(
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
