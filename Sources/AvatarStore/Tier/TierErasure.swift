import AvatarCore
import AvatarFiles
import AvatarIndex

/// Erases pictures in the whole fleet.
///
/// ```
/// the machine that erases         tombstone ─► bytes that no other record names ─► records, claims ─► its pass
/// every other one, at its sync    its own entry and its records ─► its pass
/// the last one                    passes and tombstone
/// ```
///
/// A tombstone names the URL by its SHA-256, so a machine finds its entry by hashing the URLs of all. A machine that did not
/// use the tier for 90 days is not waited for.
final class TierErasure: Sendable {
    private let gate: TierGate
    private let machine: String
    private let index: AvatarIndex
    private let writer: StoreWriter
    private let clock: any WallClock

    /// The days after which a machine renews its object, and those after which it is not waited for.
    private static let renewalDays: Int64 = 7
    private static let absenceDays: Int64 = 90

    init(_ gate: TierGate, as machine: String, _ parts: StoreParts, _ writer: StoreWriter) {
        (self.gate, self.machine, self.writer) = (gate, machine, writer)
        (index, clock) = (parts.index, parts.clock)
    }

    // MARK: Own erasures

    /// Erases in the tier what was erased in the store.
    ///
    /// - Returns: the URLs, and the objects deleted.
    /// - Throws: `TierUnavailable`: the rest waits in the index; `CancellationError`; an error of the index.
    func carryOut() async throws -> (urls: [TierURL], objects: Int) {
        let waiting = try index.tierErasures()
        guard !waiting.isEmpty else { return ([], 0) }
        for url in waiting {
            let key = TierLayout.passed(url, by: TierLayout.tombstone)
            try await gate.call(.write) { try await $0.put(key, Array("erased".utf8)) }
        }
        let deleted = try await deleteObjects(of: waiting)
        for url in waiting {
            try await pass(url)
            try await writer.finishTierErasure(of: url)
        }
        return (waiting, deleted)
    }

    /// Deletes the records and claims of `urls`, and the bytes that no other record names. The bytes go first: a record that
    /// is left after a kill tells the next attempt of them.
    ///
    /// - Returns: the objects deleted.
    private func deleteObjects(of urls: [TierURL]) async throws -> Int {
        var objects: [String] = []
        var digests: Set<[UInt8]> = []
        for url in urls {
            for key in try await keys(TierLayout.records(of: url)) {
                objects.append(key)
                if let (_, name) = TierLayout.split(key, prefix: TierLayout.records),
                    let digest = TierGeneration(name: name)?.digest
                {
                    digests.insert(digest)
                }
            }
            objects += try await keys(TierLayout.claims(of: url))
        }
        if !digests.isEmpty {
            let erased = Set(urls)
            try await forEachKey(TierLayout.records) { key in
                guard let (url, name) = TierLayout.split(key, prefix: TierLayout.records), !erased.contains(url),
                    let digest = TierGeneration(name: name)?.digest
                else { return }
                digests.remove(digest)
            }
        }
        let all = digests.map { TierLayout.bytes($0) } + objects
        for key in all { try await gate.call(.write) { try await $0.delete(key) } }
        return all.count
    }

    private func pass(_ url: TierURL) async throws {
        let key = TierLayout.passed(url, by: machine)
        try await gate.call(.write) { try await $0.put(key, Array("passed".utf8)) }
    }

    // MARK: The erasures of others

    /// Carries out the erasures of this machine and of others, and removes tombstones that all machines have passed.
    ///
    /// - Throws: `TierUnavailable`; `CancellationError`; an error of the index or the disk.
    func attend() async throws {
        var passes: [TierURL: Set<String>] = [:]
        try await forEachKey(TierLayout.tombstones) { key in
            guard let (url, name) = TierLayout.split(key, prefix: TierLayout.tombstones) else { return }
            passes[url, default: []].insert(String(name))
        }
        let news = passes.filter { !$0.value.contains(machine) }.map(\.key)
        // The store first: it needs no right to write in the tier.
        try await giveUp(Set(news))
        let machines = try await register()
        for url in try await carryOut().urls { passes[url, default: []].formUnion([TierLayout.tombstone, machine]) }
        if !news.isEmpty {
            _ = try await deleteObjects(of: news)
            for url in news {
                try await pass(url)
                passes[url, default: []].insert(machine)
            }
        }
        for (url, passed) in passes where machines.isSubset(of: passed) {
            // The tombstone is the last one: without it a pass means nothing, and the next machine removes it.
            for name in passed.sorted(by: >) {
                let key = TierLayout.passed(url, by: name)
                try await gate.call(.write) { try await $0.delete(key) }
            }
        }
    }

    /// Removes the entries at `urls` from the store, without a trace.
    private func giveUp(_ urls: Set<TierURL>) async throws {
        guard !urls.isEmpty else { return }
        var keys: [AvatarKey] = []
        var last: Int64 = 0
        while true {
            let page = try index.sources(after: last, limit: 4096)
            guard let end = page.last else { break }
            last = end.id
            for entry in page where entry.urls.contains(where: { urls.contains(TierURL($0)) }) {
                keys.append(entry.key)
            }
        }
        guard !keys.isEmpty else { return }
        _ = try await writer.remove(keys, erasing: true, inTier: false)
    }

    // MARK: Machines

    /// Says that this machine uses the tier.
    ///
    /// - Returns: the machines that erasures wait for.
    private func register() async throws -> Set<String> {
        let today = clock.now().milliseconds / 86_400_000
        var machines: Set<String> = [machine]
        var own: [Int64] = []
        var past: [String] = []
        try await forEachKey(TierLayout.machines) { key in
            let parts = key.split(separator: "/")
            guard parts.count == 3, let day = Int64(parts[2]) else { return }
            if parts[1] == machine { own.append(day) }
            if today - day < Self.absenceDays { machines.insert(String(parts[1])) } else { past.append(key) }
        }
        if own.max().map({ abs(today - $0) >= Self.renewalDays }) ?? true {
            let key = TierLayout.machines + "\(machine)/\(Self.text(today))"
            try await gate.call(.write) { try await $0.put(key, Array("uses".utf8)) }
            past += own.filter { $0 != today }.map { TierLayout.machines + "\(machine)/\(Self.text($0))" }
        }
        for key in past { try await gate.call(.write) { try await $0.delete(key) } }
        return machines
    }

    /// A day as all machines write it, in six digits.
    private static func text(_ day: Int64) -> String {
        let digits = String(day)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    // MARK: Listings

    private func keys(_ prefix: String) async throws -> [String] {
        var keys: [String] = []
        try await forEachKey(prefix) { keys.append($0) }
        return keys
    }

    private func forEachKey(_ prefix: String, _ body: (String) -> Void) async throws {
        var position: String?
        while true {
            let start = position
            let page = try await gate.call(.read) { try await $0.list(prefix: prefix, after: start) }
            page.keys.forEach(body)
            guard page.isTruncated, let last = page.keys.last else { return }
            position = last
        }
    }
}
