import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarProviders
import AvatarWriter

/// Finds or makes one rendition of the image of one entry, and stores it.
///
/// ```
/// look up ─► undecodable? ─► lease ─► look up again ─► decode ─► check ─► commit, if the original is still published
/// ```
///
/// Reads of one process share the work, and other processes wait for its lease. If a process holds the lease for too long, the
/// rendition is made twice, which only costs time.
package struct RenditionWork: Sendable {
    /// A rendition, or the reason why it was not made.
    enum Outcome: Sendable {
        /// A stored rendition.
        case stored(IndexHit)
        /// A rendition that is not stored: there is no room for it, or the store is open for reading only.
        case made(MadeRendition)
        /// No rendition can be made; the text is a sentence with the reason.
        case none(String)
        /// The original was evicted, replaced or removed meanwhile.
        case lost
    }

    /// The number of times that the decoder may end during an image before the store gives the image up.
    static let mostDeaths = 3
    /// The limit on the wait for another process's lease. A decoder may take eight seconds for an image.
    private static let longestWait = Duration.seconds(10)

    private let fetching: FetchParts
    private let key: AvatarKey
    /// The image's own hit.
    private let original: IndexHit
    /// The rendition, whose format is not `original`.
    private let rendition: Rendition
    /// Whether the rendition is stored.
    private let stores: Bool

    private var parts: StoreParts { fetching.parts }

    /// - Parameters:
    ///   - original: the hit of the image.
    ///   - rendition: the rendition, as `Rendition.resolved` gives it.
    ///   - stores: whether the rendition is stored, if the store can be written. Default: yes.
    init(_ rendition: Rendition, of original: IndexHit, _ key: AvatarKey, _ fetching: FetchParts, stores: Bool = true) {
        (self.rendition, self.original, self.key) = (rendition, original, key)
        (self.fetching, self.stores) = (fetching, stores)
    }

    /// The parts that can be written; `nil` if the rendition is not stored.
    private var writable: StoreParts.Writable? { stores ? parts.writable : nil }

    /// The rendition, made if necessary.
    ///
    /// - Throws: `imageRefused` if no quality and size fits its `maxBytes`; an error of the index or the disk;
    ///   `CancellationError`.
    func run() async throws -> Outcome {
        let stored = try parts.index.hit(for: key, rendition: rendition.spec, of: original.file.id)
        if let stored, try parts.roots.contains(stored.file) { return .stored(stored) }
        guard let maker = parts.configuration.renditions else {
            return .none("The store has no decoder: its `Configuration.renditions` is not set.")
        }
        if let reason = try knownFailure(maker) { return .none(reason) }
        // The name has the row id of the original, which differs for each version of the image.
        let name = AvatarKey(stored: "rendition:\(original.file.id) \(rendition.spec)\(stores ? "" : " unstored")")
        return try await fetching.renditionFlights.join(name) {
            guard let writable else { return try await make(with: maker) }
            let leases = writable.places.leases
            let lease = try await leases.take(name, within: Self.longestWait, parts.configuration.logger)
            defer { withExtendedLifetime(lease) {} }
            // Another process may have made it, or failed, since the first look-up.
            if let hit = try parts.index.hitInFile(for: key, rendition: rendition.spec, of: original.file.id) {
                if try parts.roots.contains(hit.file) { return .stored(hit) }
                // Its file was purged. The row would prevent a new file with other bytes.
                try await writable.writer.retireLost([hit.file])
            }
            if let reason = try knownFailure(maker) { return .none(reason) }
            return try await make(with: maker)
        }
    }

    /// Why an earlier attempt failed; `nil` without one, or if another attempt may succeed.
    private func knownFailure(_ maker: any RenditionMaker) throws -> String? {
        guard let known = try parts.index.undecodable(original.file.id), known.decoderVersion == maker.version,
            known.deaths == 0 || known.deaths >= Self.mostDeaths
        else { return nil }
        return known.reason
    }

    private func make(with maker: any RenditionMaker) async throws -> Outcome {
        guard let file = try parts.roots.open(original.file) else { return .lost }
        var made: MadeRendition
        do {
            made = try await maker.make(rendition, from: file.descriptor)
        } catch let error as RenditionError {
            return try await record(error, of: maker)
        }
        withExtendedLifetime(file) {}
        // A rendition has no metadata, whatever its maker does.
        made.bytes = try MetadataRemoval.strip(made.bytes) ?? made.bytes
        guard let writable else { return .made(made) }
        let limits = try parts.limits()
        // The decoder is not trusted, so its output is inspected like any image.
        let description = try parts.intake(limits).inspect(ByteArraySource(made.bytes))
        let source = RenditionSource(file: original.file.id, spec: rendition.spec, thumbHash: made.thumbHash)
        let change = Change(
            key: key,
            content: .rendition(StagedImage(made.bytes, as: description, in: .caches), of: source)
        )
        var rules = RoomRules(limits)
        rules.isRendition = true
        // Evicting the original would delete this rendition too.
        rules.protection = .files([original.file.id])
        switch try await writable.writer.commitNow(change, rules).outcome {
        case .stored:
            return try parts.index.hitInFile(for: key, rendition: rendition.spec, of: original.file.id).map(
                Outcome.stored
            ) ?? .lost
        case .overBudget: return .made(made)
        default: return .lost
        }
    }

    /// Records that no rendition of the image can be made, if the image is the cause.
    private func record(_ error: RenditionError, of maker: any RenditionMaker) async throws -> Outcome {
        switch error {
        case .cannotDecode(let reason):
            try await writable?.writer.noteUndecodable(original.file.id, maker.version, isDeath: false, reason)
            return .none(reason)
        case .decoderDied(let reason):
            try await writable?.writer.noteUndecodable(original.file.id, maker.version, isDeath: true, reason)
            return .none(reason)
        case .unavailable(let reason):
            return .none(reason)
        case .tooManyBytes(let smallest):
            throw AvatarStoreError(
                .imageRefused,
                "The smallest rendition of \"\(key)\" has \(smallest) bytes, more than the limit of"
                    + " \(rendition.maxBytes ?? 0). Raise `maxBytes` (--max-bytes)."
            )
        }
    }
}

extension StoreWriter {
    /// Records that no rendition of the file could be made.
    fileprivate func noteUndecodable(_ file: Int64, _ version: Int, isDeath: Bool, _ reason: String) throws {
        try write { try $0.noteUndecodable(file, decoder: version, isDeath: isDeath, reason: reason) }
    }
}

extension RenditionWork {
    /// The rendition of the image of `key`, for an export; `nil` if it cannot be made, or no quality and size fits the limit on
    /// its bytes. It is not stored.
    package static func exported(
        _ rendition: Rendition,
        of key: AvatarKey,
        _ fetching: FetchParts
    ) async throws -> (bytes: [UInt8], mediaType: String)? {
        let parts = fetching.parts
        guard let hit = try parts.index.hit(for: key) else { return nil }
        let work = RenditionWork(rendition.resolved(of: hit.file), of: hit, key, fetching, stores: false)
        do {
            switch try await work.run() {
            case .stored(let stored): return try parts.roots.read(stored.file).map { ($0, stored.file.mediaType) }
            case .made(let made): return (made.bytes, made.mediaType)
            case .none, .lost: return nil
            }
        } catch let error as AvatarStoreError where error.code == .imageRefused {
            // One image must not stop the export of the others.
            return nil
        }
    }
}
