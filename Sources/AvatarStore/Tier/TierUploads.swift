import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarIndex
import AvatarWriter
import Logging

/// Puts the answers of origins into the shared tier, behind the fetches: the queue is in the index, so a restart loses none.
///
/// The bytes go first, then the record that names them, then the older record goes. A machine that is killed in between leaves
/// bytes without a record, which the next attempt names. The claim ends last.
final class TierUploads: Sendable {
    private struct State {
        /// The task that empties the queue; `nil` while none runs.
        var task: Task<Void, any Error>?
        /// Whether an answer was queued since the run last looked.
        var isRung = false
        /// The claims of answers that are not in the tier yet.
        var claims: [AvatarKey: TierClaims.Held] = [:]
        /// Claims that led to no answer in the tier.
        var given: [TierClaims.Held] = []
        /// The number of erasures under way, during which nothing is put.
        var erasures = 0
    }

    private let gate: TierGate
    private let claims: TierClaims
    private let erasure: TierErasure
    private let index: AvatarIndex
    private let roots: StoredRoots
    private let writer: StoreWriter
    private let logger: Logger
    private let state = Locked(State())

    /// The answers read at once, and those put at once.
    private static let pageSize = 256
    private static let width = 16

    init(
        _ gate: TierGate,
        _ claims: TierClaims,
        _ erasure: TierErasure,
        _ parts: StoreParts,
        _ writer: StoreWriter
    ) {
        (self.gate, self.claims, self.erasure, self.writer) = (gate, claims, erasure, writer)
        (index, roots, logger) = (parts.index, parts.roots, parts.configuration.logger)
    }

    // MARK: The queue

    /// Keeps the claim of the answer for `key` until that is in the tier. After a restart it is forgotten: other machines wait
    /// until it ends, and the next check of the tier deletes the replaced record.
    func keep(_ claim: TierClaims.Held, of key: AvatarKey) {
        state.withLock { state in
            if state.claims.count < TierQueue.mostWaiting { state.claims[key] = claim }
        }
    }

    /// Ends the claim of the answer for `key`, which the store did not keep.
    func giveUp(_ key: AvatarKey) {
        let hasClaim = state.withLock { state in
            guard let claim = state.claims.removeValue(forKey: key) else { return false }
            state.given.append(claim)
            return true
        }
        if hasClaim { wake() }
    }

    /// Whether answers wait.
    func hasWork() throws -> Bool { try index.hasTierWork() }

    /// Begins to empty the queue in the background, unless that is under way.
    func wake() {
        guard gate.isOpen(.write) else { return }
        state.withLock { state in
            state.isRung = true
            guard state.task == nil, state.erasures == 0 else { return }
            state.task = Task { [self] in try await run() }
        }
    }

    /// Empties the queue, or ends when the tier fails.
    ///
    /// - Throws: `CancellationError`; an error of the index.
    func drain() async throws {
        wake()
        guard let task = state.withLock({ $0.task }) else { return }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError where !Task.isCancelled {
            // An erasure has ended the run, and begins another one afterwards.
        }
    }

    /// Ends the run that is under way.
    func stop() async {
        guard let task = state.withLock({ $0.task }) else { return }
        task.cancel()
        _ = await task.result
    }

    /// Runs `body`, which erases objects, while nothing is put.
    func pausing<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        state.withLock { $0.erasures += 1 }
        await stop()
        defer {
            state.withLock { $0.erasures -= 1 }
            wake()
        }
        return try await body()
    }

    private func run() async throws {
        do {
            while takeRing() { try await putAll() }
        } catch {
            state.withLock { $0.task = nil }
            if error is TierUnavailable { return }
            if !(error is CancellationError) {
                logger.warning("answers for the shared tier wait", metadata: ["error": "\(error)"])
            }
            throw error
        }
    }

    /// Whether to look at the queue again. If not, the run is over.
    private func takeRing() -> Bool {
        state.withLock { state in
            defer { state.isRung = false }
            if !state.isRung { state.task = nil }
            return state.isRung
        }
    }

    private func putAll() async throws {
        while let claim = state.withLock({ $0.given.popLast() }) { try await claims.end(claim) }
        var last: Int64 = 0
        while true {
            let page = try index.tierUploads(after: last, limit: Self.pageSize)
            guard let end = page.last else { return }
            last = end.id
            try await erasure.register()
            // An erased image must not come back from this machine, which gives it up at its next sync.
            let erased = try await erasure.urlsNotPassed()
            let done = try await put(page, except: erased)
            try await finish(done)
        }
    }

    // MARK: One page

    /// Puts the answers of a page.
    ///
    /// - Returns: the uploads that are over.
    private func put(_ page: [TierUpload], except erased: Set<TierURL>) async throws -> [Int64] {
        try await withThrowingTaskGroup(of: Int64.self) { group in
            var done: [Int64] = []
            do {
                for (number, upload) in page.enumerated() {
                    if number >= Self.width, let id = try await group.next() { done.append(id) }
                    group.addTask { [self] in
                        if erased.contains(upload.url) { giveUp(upload.entry.key) } else { try await put(upload) }
                        return upload.id
                    }
                }
                while let id = try await group.next() { done.append(id) }
            } catch {
                // The others end first, so that none of them is put twice.
                while let result = await group.nextResult() {
                    if case .success(let id) = result { done.append(id) }
                }
                try await finish(done)
                throw error
            }
            return done
        }
    }

    /// Removes answers that are in the tier from the queue.
    private func finish(_ ids: [Int64]) async throws {
        guard !ids.isEmpty else { return }
        try await writer.write { try $0.finishUploads(ids) }
    }

    /// Puts an answer, if its entry still has it, and ends its claim.
    private func put(_ upload: TierUpload) async throws {
        let claim = state.withLock { $0.claims.removeValue(forKey: upload.entry.key) }
        do {
            try await put(upload, replacing: claim?.replaced)
        } catch {
            if let claim { keep(claim, of: upload.entry.key) }
            throw error
        }
        if let claim { try await claims.end(claim) }
    }

    private func put(_ upload: TierUpload, replacing replaced: TierGeneration?) async throws {
        let (entry, url) = (upload.entry, upload.url)
        // Another answer since, another source or bytes of the caller's own must not go under this URL.
        guard let generation = TierGeneration(of: entry), generation.time == upload.answered,
            let source = entry.isLowData ? entry.lowDataURL : entry.sourceURL, TierURL(source) == url
        else { return }
        var body: [UInt8] = []
        if let file = entry.file, let digest = entry.sha256 {
            guard let record = TierRecord(of: entry, url) else { return }
            // An answer that confirms the one before needs no bytes: they are there.
            if replaced?.digest != digest || entry.validation.fetched == entry.validation.response {
                guard try await putBytes(file, digest, of: entry) else { return }
            }
            body = try record.encoded()
        }
        let key = TierLayout.record(of: url, generation)
        let object = body
        try await gate.call(.write) { try await $0.put(key, object) }
        gate.count { $0.put += 1 }
        guard try index.entry(for: entry.key) != nil else {
            // Another process has removed it meanwhile, perhaps by an erasure.
            return try await gate.call(.write) { try await $0.delete(key) }
        }
        guard let replaced, replaced != generation else { return }
        let old = TierLayout.record(of: url, replaced)
        try await gate.call(.write) { try await $0.delete(old) }
    }

    /// Puts the bytes of an image, unless they are there.
    ///
    /// - Returns: whether they are there. The file may be gone, or damaged.
    private func putBytes(_ file: FileRecord, _ digest: [UInt8], of entry: AvatarEntry) async throws -> Bool {
        let key = TierLayout.bytes(digest)
        // An answer without bytes confirmed an image that is probably there.
        if entry.validation.fetched != entry.validation.response,
            try await gate.list(key).keys == [key]
        {
            return true
        }
        guard let bytes = stored(file), ContentDigest.sha256(bytes) == digest else { return false }
        try await gate.call(.write, within: .seconds(60)) { try await $0.put(key, bytes) }
        return true
    }

    /// The bytes of a stored image; `nil` if they cannot be read. `verify` reports that.
    private func stored(_ file: FileRecord) -> [UInt8]? {
        do {
            return try roots.files(of: file.storageClass).read(file)
        } catch {
            logger.warning("an image for the shared tier cannot be read", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
