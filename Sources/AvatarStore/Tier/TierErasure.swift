import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

/// Erases images in the whole fleet.
///
/// ```
/// the machine that erases         tombstone ─► bytes that no other record names ─► records, claims ─► its pass
///                                 some minutes later: the same for what other machines were about to put
/// every other one, at its sync    its own entry and its records ─► its pass
/// the last one                    passes and tombstone
/// ```
///
/// A tombstone names the URL by its SHA-256, so a machine finds its entry by hashing the URLs of all. A machine that did not
/// use the tier for 90 days is not waited for.
struct TierErasure: Sendable {
    private let gate: TierGate
    private let machine: String
    private let index: AvatarIndex
    private let writer: StoreWriter
    private let clock: any WallClock

    /// The days after which a machine renews its object, and those after which it is not waited for.
    private static let renewalDays: Int64 = 7
    private static let absenceDays: Int64 = 90
    /// The erasures of other machines that are carried out together.
    private static let partSize = 64
    /// The time after which the objects of an erasure are looked for once more: longer than a machine takes to put an answer.
    private static let secondLook: Int64 = 150

    init(_ gate: TierGate, as machine: String, _ parts: StoreParts, _ writer: StoreWriter) {
        (self.gate, self.machine, self.writer) = (gate, machine, writer)
        (index, clock) = (parts.index, parts.clock)
    }

    // MARK: Own erasures

    /// Erases in the tier what was erased in the store. Nothing may be put into the tier meanwhile.
    ///
    /// - Returns: the objects deleted.
    /// - Throws: `TierUnavailable`: the rest waits in the index; `CancellationError`; an error of the index.
    func carryOut() async throws -> Int {
        let now = clock.now()
        let waiting = try index.tierErasures()
        let first = waiting.filter { $0.deleted == nil }
        for erasure in first {
            let key = TierLayout.tombstone(of: erasure.url, erasure.name)
            try await gate.call(.write) { try await $0.put(key, Array("erased".utf8)) }
        }
        let deleted = first.isEmpty ? 0 : try await deleteObjects(of: first.map(\.url), first.compactMap(\.digest))
        for erasure in first {
            try await pass(erasure.url, erasure.name)
            try await writer.write { try $0.noteTierDeletion(of: erasure.name, at: now) }
        }
        var isRepeated = false
        for erasure in waiting {
            guard let deleted = erasure.deleted, abs(now.seconds(since: deleted)) >= Self.secondLook else { continue }
            if try await findsMore(of: erasure) { isRepeated = true }
        }
        return try await isRepeated ? deleted + carryOut() : deleted
    }

    /// Looks for what another machine was about to put, and ends the erasure if there is nothing.
    ///
    /// - Returns: whether the erasure waits again, because another machine may have taken what was found: a new tombstone tells
    ///   all of them.
    private func findsMore(of erasure: WaitingErasure) async throws -> Bool {
        let records = try await keys(TierLayout.records(of: erasure.url)).filter { key in
            TierLayout.record(key).map { $0.generation.time <= erasure.erased } ?? false
        }
        guard records.isEmpty else {
            try await writer.write {
                try $0.queueTierErasure(of: erasure.url, digest: erasure.digest, at: erasure.erased)
            }
            return true
        }
        _ = try await deleteBytes(erasure.digest.map { [$0] } ?? [], except: [])
        try await writer.write { try $0.finishTierErasure(erasure.name) }
        return false
    }

    /// Deletes the records and claims of `urls`, and the bytes that no other record names. The bytes go first: a record that
    /// is left after a kill tells the next attempt of them.
    ///
    /// - Parameter digests: the images that the store had. The records name others.
    /// - Returns: the objects deleted.
    private func deleteObjects(of urls: [TierURL], _ digests: [[UInt8]]) async throws -> Int {
        var objects: [String] = []
        var digests = Set(digests)
        for url in urls {
            for key in try await keys(TierLayout.records(of: url)) {
                objects.append(key)
                if let digest = TierLayout.record(key)?.generation.digest { digests.insert(digest) }
            }
            objects += try await keys(TierLayout.claims(of: url))
        }
        let bytes = try await deleteBytes(digests, except: Set(objects))
        for key in objects { try await gate.call(.write) { try await $0.delete(key) } }
        return objects.count + bytes
    }

    /// Deletes those of `digests` that are in the tier and that no record names, apart from `records`.
    ///
    /// - Returns: the objects deleted.
    private func deleteBytes(_ digests: some Sequence<[UInt8]>, except records: Set<String>) async throws -> Int {
        var present: Set<[UInt8]> = []
        for digest in digests {
            let key = TierLayout.bytes(digest)
            let isThere = try await gate.list(key).keys == [key]
            if isThere { present.insert(digest) }
        }
        // A listing of all records takes a request per 1,000, so there is one only if it matters.
        guard !present.isEmpty else { return 0 }
        try await gate.forEachKey(TierLayout.records, .ofRecords) { key in
            guard !records.contains(key), let digest = TierLayout.record(key)?.generation.digest else { return }
            present.remove(digest)
        }
        for digest in present {
            let key = TierLayout.bytes(digest)
            try await gate.call(.write) { try await $0.delete(key) }
        }
        return present.count
    }

    private func pass(_ url: TierURL, _ name: String) async throws {
        let key = TierLayout.pass(of: url, name, by: machine)
        try await gate.call(.write) { try await $0.put(key, Array("passed".utf8)) }
    }

    // MARK: The erasures of others

    /// The machines that have passed a tombstone.
    private typealias Passes = [TierTombstone: Set<String>]

    private func passes() async throws -> Passes {
        var passes: Passes = [:]
        try await gate.forEachKey(TierLayout.tombstones, .ofErasures) { key in
            if let (tombstone, machine) = TierLayout.tombstone(key) { passes[tombstone, default: []].insert(machine) }
        }
        return passes
    }

    /// The tombstones that this machine has not passed. A pass whose tombstone is gone is a leftover.
    private func news(_ passes: Passes) -> [TierTombstone] {
        passes.filter { $0.value.contains(TierLayout.tombstoneName) && !$0.value.contains(machine) }.map(\.key)
    }

    /// The URLs that other machines have erased and that this one may still have.
    func urlsNotPassed() async throws -> Set<TierURL> {
        Set(news(try await passes()).map(\.url))
    }

    /// Carries out the erasures of this machine and of others, and removes tombstones that all machines have passed.
    ///
    /// - Throws: `TierUnavailable`; `CancellationError`; an error of the index or the disk.
    func attend() async throws {
        var passes = try await passes()
        let news = news(passes)
        // The store first: it needs no right to write in the tier.
        let digests = try await giveUp(Set(news.map(\.url)))
        try await register(checking: true)
        // In parts, so that a kill or a deadline keeps the ones before. Without digests, a trace is left: the next sync tries again.
        for start in stride(from: 0, to: digests == nil ? 0 : news.count, by: Self.partSize) {
            let part = news[start..<min(start + Self.partSize, news.count)]
            _ = try await deleteObjects(of: part.map(\.url), start == 0 ? digests ?? [] : [])
            for tombstone in part { try await pass(tombstone.url, tombstone.name) }
        }
        let waiting = try index.tierErasures()
        _ = try await carryOut()
        if !waiting.isEmpty || !news.isEmpty { passes = try await self.passes() }
        try await sweep(passes)
    }

    /// Removes the tombstones that all machines have passed.
    private func sweep(_ passes: Passes) async throws {
        guard !passes.isEmpty else { return }
        let machines = try await machines()
        for (tombstone, passed) in passes
        where machines.isSubset(of: passed) || !passed.contains(TierLayout.tombstoneName) {
            // The tombstone itself is the first one: a pass without it counts for nothing.
            for name in passed.sorted() {
                let key = TierLayout.pass(of: tombstone.url, tombstone.name, by: name)
                try await gate.call(.write) { try await $0.delete(key) }
            }
        }
    }

    /// Removes the entries at `urls` from the store, and the traces of those that were removed before or by a process that was
    /// killed.
    ///
    /// - Returns: the digests of their images; `nil` if a trace is left.
    private func giveUp(_ urls: Set<TierURL>) async throws -> [[UInt8]]? {
        guard !urls.isEmpty else { return [] }
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
        let digests = try keys.compactMap { try index.entry(for: $0)?.sha256 }
        keys += try index.changedKeys().filter { urls.contains(TierURL($0.rawValue)) }
        return try await writer.remove(keys, erasing: true, isNews: false, at: clock.now()).isErased ? digests : nil
    }

    // MARK: Machines

    /// Says in the tier that this machine uses it, once a week.
    ///
    /// - Parameter checks: whether to look for the object: the bucket may be another one than last time. Default: no.
    /// - Throws: `TierUnavailable`; `CancellationError`; an error of the index.
    func register(checking checks: Bool = false) async throws {
        let today = clock.now().milliseconds / 86_400_000
        let last = try index.tierRegistration()
        if let last, abs(today - last) < Self.renewalDays {
            guard checks else { return }
            if try await !keys(TierLayout.objects(ofMachine: machine)).isEmpty { return }
        }
        let key = TierLayout.machine(machine, day: today)
        try await gate.call(.write) { try await $0.put(key, Array("uses".utf8)) }
        try await writer.write { try $0.setTierRegistration(today) }
        guard let last, last != today else { return }
        let old = TierLayout.machine(machine, day: last)
        try await gate.call(.write) { try await $0.delete(old) }
    }

    /// The machines that erasures wait for. Deletes the objects of those that are gone.
    private func machines() async throws -> Set<String> {
        let today = clock.now().milliseconds / 86_400_000
        var machines: Set<String> = [machine]
        var past: [String] = []
        try await gate.forEachKey(TierLayout.machines, .ofErasures) { key in
            guard let (name, day) = TierLayout.machine(key) else { return }
            if today - day < Self.absenceDays { machines.insert(name) } else { past.append(key) }
        }
        for key in past { try await gate.call(.write) { try await $0.delete(key) } }
        return machines
    }

    // MARK: Listings

    /// The objects of one URL or machine.
    private func keys(_ prefix: String) async throws -> [String] {
        var keys: [String] = []
        try await gate.forEachKey(prefix, .ofOne) { keys.append($0) }
        return keys
    }
}
