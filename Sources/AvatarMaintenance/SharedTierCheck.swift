public import AvatarProviders
import AvatarFoundation
import AvatarStore
import AvatarCore
import AvatarFiles

/// Checks a shared tier: whether each record has its bytes, which bytes no record names, and by sample whether the objects hold
/// what their keys say. It needs no store. Its memory grows by about 100 bytes per image.
public struct SharedTierCheck: Sendable {
    private let tier: any SharedTier
    /// The most records and the most images that are read. Default: 100 of each.
    public var sampleSize = 100
    /// How long a repair waits before it deletes bytes that no record names: longer than a machine takes from putting bytes to
    /// putting the record that names them. Default: 150 seconds.
    public var grace = Duration.seconds(150)

    /// The largest object that is read.
    private static let largestImage = 256 << 20

    /// A check of `tier`.
    public init(_ tier: any SharedTier) {
        self.tier = tier
    }

    /// Lists the tier and checks it.
    ///
    /// - Parameter repair: whether to delete objects at fault: damaged ones, records without bytes, replaced records, and bytes that
    ///   no record has named for `grace`. Machines may use the tier meanwhile: one that reads what was deleted asks the origin.
    ///   Foreign objects stay. Default: no.
    /// - Throws: `SharedTierError`; `CancellationError`.
    public func run(repair: Bool = false) async throws -> SharedTierReport {
        var report = SharedTierReport()
        var bytes = try await images(&report)
        var claims: Set<String> = []
        try await forEachKey(TierLayout.claims) { claims.insert($0) }
        report.claims = claims.count
        let records = try await records(of: &bytes, &report, repair: repair)
        try await sample(records, bytes.keys.filter { bytes[$0] == .named }, &report, repair: repair)
        let unnamed = bytes.filter { $0.value == .unnamed }.map(\.key)
        if repair, !unnamed.isEmpty || !claims.isEmpty { try await Deadlines.shared.sleep(for: grace) }
        try await sweep(unnamed, &report, repair: repair)
        if repair { try await endClaims(claims, &report) }
        try await forEachKey(TierLayout.tombstones) { key in
            if TierLayout.isTombstone(key) { report.tombstones += 1 }
        }
        var machines: Set<String> = []
        try await forEachKey(TierLayout.machines) { key in
            if let (name, _) = TierLayout.machine(key) { machines.insert(name) }
        }
        report.machines = machines.count
        return report
    }

    // MARK: The listing

    /// A digest without an allocation.
    private struct Digest: Hashable {
        private let words: SIMD4<UInt64>

        init(_ bytes: [UInt8]) {
            words = SIMD4((0..<4).map { word in bytes[word * 8..<word * 8 + 8].reduce(0) { $0 << 8 | UInt64($1) } })
        }

        var bytes: [UInt8] {
            (0..<4).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: words[word] >> (56 - 8 * $0)) } }
        }
    }

    private enum Use {
        case named, unnamed
    }

    private func images(_ report: inout SharedTierReport) async throws -> [Digest: Use] {
        var bytes: [Digest: Use] = [:]
        var foreign: [String] = []
        try await forEachKey(TierLayout.allBytes) { key in
            let name = key.dropFirst(TierLayout.allBytes.count)
            if name.utf8.count == 64, let digest = Hexadecimal.bytes(String(name)) {
                bytes[Digest(digest)] = .unnamed
            } else {
                foreign.append(key)
            }
        }
        report.images = bytes.count
        for key in foreign { report.add(.foreignObject, key) }
        return bytes
    }

    /// Lists the records, and marks the bytes that they name.
    ///
    /// - Returns: some records to read.
    private func records(
        of bytes: inout [Digest: Use],
        _ report: inout SharedTierReport,
        repair: Bool
    ) async throws -> [String] {
        var sample: [String] = []
        var faults: [(kind: SharedTierReport.Fault.Kind, key: String)] = []
        var last: TierURL?
        var count = 0
        var named = bytes
        var urls = 0
        try await forEachKey(TierLayout.records) { key in
            guard let (url, generation) = TierLayout.record(key) else { return faults.append((.foreignObject, key)) }
            count += 1
            if url == last { return faults.append((.replacedRecord, key)) }
            last = url
            urls += 1
            guard let digest = generation.digest.map(Digest.init) else { return }
            guard named[digest] != nil else { return faults.append((.missingBytes, key)) }
            named[digest] = .named
            keep(key, in: &sample, ofSeen: urls)
        }
        (bytes, report.records, report.urls) = (named, count, urls)
        for fault in faults {
            var isRepaired = repair && fault.kind != .foreignObject
            if isRepaired { isRepaired = try await isStillAtFault(fault) }
            if isRepaired { try await tier.delete(fault.key) }
            report.add(fault.kind, fault.key, isRepaired: isRepaired)
        }
        return sample
    }

    /// Whether a fault of a record is still there: the bytes may have been put after they were listed.
    private func isStillAtFault(_ fault: (kind: SharedTierReport.Fault.Kind, key: String)) async throws -> Bool {
        guard fault.kind == .missingBytes, let digest = TierLayout.record(fault.key)?.generation.digest else {
            return true
        }
        return try await tier.list(prefix: TierLayout.bytes(digest), after: nil).keys.isEmpty
    }

    /// Keeps a random sample of the keys seen.
    private func keep(_ key: String, in sample: inout [String], ofSeen count: Int) {
        if sample.count < sampleSize {
            sample.append(key)
        } else {
            let place = Int.random(in: 0..<count)
            if place < sampleSize { sample[place] = key }
        }
    }

    /// The most pages of a listing. A page has up to 1,000 keys.
    private static let mostPages = 100_000

    func forEachKey(_ prefix: String, _ body: (String) -> Void) async throws {
        var position: String?
        for _ in 0..<Self.mostPages {
            try Task.checkCancellation()
            let page = try await tier.list(prefix: prefix, after: position).advancing(beyond: position)
            page.keys.forEach(body)
            guard page.isTruncated else { return }
            position = page.keys.last
        }
        throw SharedTierError.endlessListing(prefix)
    }

    // MARK: The sample

    private func sample(
        _ records: [String],
        _ images: [Digest],
        _ report: inout SharedTierReport,
        repair: Bool
    ) async throws {
        for key in records {
            guard let (url, generation) = TierLayout.record(key),
                let object = try await object(key, TierRecord.largestSize)
            else { continue }
            report.sampled += 1
            guard TierRecord(object, of: url, generation) == nil else { continue }
            if repair { try await tier.delete(key) }
            report.add(.damagedRecord, key, isRepaired: repair)
        }
        for digest in images.shuffled().prefix(sampleSize).map(\.bytes) {
            let key = TierLayout.bytes(digest)
            guard let object = try await object(key, Self.largestImage) else { continue }
            report.sampled += 1
            guard ContentDigest.sha256(object) != digest else { continue }
            if repair { try await tier.delete(key) }
            report.add(.damagedBytes, key, isRepaired: repair)
        }
    }

    /// The object; empty if it is too large, so that it counts as damaged.
    private func object(_ key: String, _ limit: Int) async throws -> [UInt8]? {
        do {
            return try await tier.get(key, limit: limit)
        } catch let error as SharedTierError where error.kind == .invalidObject {
            return []
        }
    }

    // MARK: The sweep

    /// Reports `bytes`, which no record named before `grace`, and deletes those that no record names now either.
    ///
    /// A machine may put a record that names them at the same moment. Then the next machine that reads it finds no bytes, and
    /// asks the origin.
    private func sweep(_ bytes: [Digest], _ report: inout SharedTierReport, repair: Bool) async throws {
        var left = Set(bytes)
        if repair, !left.isEmpty {
            try await forEachKey(TierLayout.records) { key in
                if let digest = TierLayout.record(key)?.generation.digest { left.remove(Digest(digest)) }
            }
        }
        for digest in left {
            let key = TierLayout.bytes(digest.bytes)
            if repair { try await tier.delete(key) }
            report.add(.orphanedBytes, key, isRepaired: repair)
        }
    }

    /// Deletes those of `claims` that are still there: their machines died.
    private func endClaims(_ claims: Set<String>, _ report: inout SharedTierReport) async throws {
        var left: [String] = []
        try await forEachKey(TierLayout.claims) { if claims.contains($0) { left.append($0) } }
        for key in left {
            try await tier.delete(key)
            report.add(.abandonedClaim, key, isRepaired: true)
        }
    }
}
