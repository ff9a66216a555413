import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarIndex
import AvatarProviders
import AvatarWriter
import HTTPTypes

/// The shared tier of an open store, as a source of answers for its fetches and syncs.
final class TierLink: AnswerSource {
    /// The way to the tier.
    let gate: TierGate
    let reader: TierReader
    let claims: TierClaims
    /// Puts the answers of origins into the tier.
    let uploads: TierUploads
    /// Erased images, here and on other machines.
    private let erasure: TierErasure
    private let writer: StoreWriter
    private let clock: any WallClock

    let width = 32

    /// The link of an open store to the tier of its configuration; `nil` without one.
    ///
    /// - Throws: an error of the index.
    static func open(_ parts: StoreParts, _ writer: StoreWriter) throws -> TierLink? {
        guard let tier = parts.configuration.sharedTier else { return nil }
        let machine = try parts.index.tierMachine(orNew: Hexadecimal.random64() + Hexadecimal.random64())
        return TierLink(tier, as: machine, parts, writer)
    }

    /// The link of a store to `tier`. It sends no request yet.
    ///
    /// - Parameter machine: the name of the store in the tier.
    private init(_ tier: any SharedTier, as machine: String, _ parts: StoreParts, _ writer: StoreWriter) {
        (self.writer, clock) = (writer, parts.clock)
        let configuration = parts.configuration
        gate = TierGate(
            tier,
            callLimit: configuration.sharedTierTimeLimit,
            clock: parts.clock,
            logger: configuration.logger
        )
        reader = TierReader(gate: gate)
        claims = TierClaims(gate)
        erasure = TierErasure(gate, as: machine, parts, writer)
        uploads = TierUploads(gate, claims, erasure, parts, writer)
    }

    // MARK: Fetches

    func serves(_ target: FetchTarget) -> Bool {
        gate.isOpen(.read) && !target.isTransient && !target.isUnconditional && !target.isPartial && !target.isReduced
    }

    func answer(
        _ target: FetchTarget,
        _ fetcher: Fetcher,
        _ patience: AnswerPatience,
        host: (FetchTarget) async throws -> FetchResult
    ) async throws -> FetchResult? {
        let fetch = TierFetch(self, fetcher, target)
        if case .answer(let generation) = target.listed { return try await fetch.take(generation) }
        return try await fetch.run(patience, origin: host)
    }

    /// Whether the answer of an origin is put into the tier: it is an image or the lack of one, and other machines may have it.
    func wants(_ result: FetchResult, of target: FetchTarget, by fetcher: Fetcher) -> Bool {
        guard !result.isFromSource, result.originFailure == nil, !target.isTransient, !target.isReduced else {
            return false
        }
        switch result.content {
        case .image(_, let response), .notModified(let response):
            let isAuthorized = fetcher.sendsCredentials(for: target, response.metadata.redirection)
            return response.freshness.allowsStore && response.metadata.mayBeShared(isAuthorized: isAuthorized)
        case .failed(let failure):
            return failure.kind == .gone && failure.mayBeShared && target.entry?.file == nil
                && !fetcher.sendsCredentials(for: target)
        }
    }

    func noteCommit() { uploads.wake() }

    /// Ends the claim of the answer.
    func giveUp(_ key: AvatarKey) { uploads.giveUp(key) }

    // MARK: Syncs

    func listing() -> any AnswerListing { TierListing(gate, clock: clock) }

    /// Begins a sync: carries out erasures, here those of other machines and there those of this one.
    ///
    /// - Parameter limit: the time for it. The rest waits for the next sync.
    /// - Throws: an error of the index or the disk. A cancelled task returns early.
    func begin(within limit: Duration) async throws {
        do {
            try await uploads.pausing { [erasure] in
                try await Deadlines.shared.run(limit) { try await erasure.attend() }
            }
        } catch is TierUnavailable {
            // The gate has recorded it. The next sync tries again.
        } catch is DeadlinePassed {
            // The next sync goes on.
        } catch is CancellationError {
            // The sync ends, and reports that it was cancelled.
        }
    }

    /// Carries out in the tier what was erased in the store.
    ///
    /// - Returns: the objects deleted; `nil` if the tier failed, so that the rest waits in the index.
    /// - Throws: `CancellationError`; an error of the index.
    func erase() async throws -> Int? {
        do {
            return try await uploads.pausing { try await erasure.carryOut() }
        } catch is TierUnavailable {
            return nil
        }
    }

    /// Says in the tier that this machine uses it, before it takes an image. A tier that is read-only gives images all the same.
    func register() async throws {
        do {
            try await erasure.register()
        } catch is TierUnavailable {
            // The gate has recorded it. The next fetch tries again.
        }
    }

    /// Ends a use of the store: puts the answers that wait into the tier, and stores how the tier went.
    ///
    /// - Parameter limit: the time for it. The rest waits for the next use of the store.
    /// - Throws: an error of the index. A cancelled task returns early.
    func finish(within limit: Duration) async throws {
        if try uploads.hasWork() {
            do {
                try await Deadlines.shared.run(limit) { [uploads] in try await uploads.drain() }
            } catch is DeadlinePassed {
                // The rest waits in the index.
            } catch is CancellationError {
                // The rest goes into the tier at the next use of the store.
            }
        }
        try await recordUse()
    }

    /// Ends the link: what waits and does not fit into a few seconds goes into the tier at the next use of the store.
    ///
    /// - Throws: an error of the index.
    func close() async throws {
        let result: Result<Void, any Error>
        do {
            if !Task.isCancelled { try await finish(within: .seconds(5)) }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await uploads.stop()
        try result.get()
    }

    /// Stores the counts and the last failure.
    private func recordUse() async throws {
        guard let use = gate.takeUse() else { return }
        try await writer.write { try $0.note(use.counts, failure: use.failure) }
    }
}

extension Fetcher {
    /// Whether a request for the image may carry credentials: a field that the store does not send by itself, to the URL or to
    /// the one that it redirected to. A client that does not tell its fields may send any.
    fileprivate func sendsCredentials(for target: FetchTarget, _ redirection: Redirection? = nil) -> Bool {
        let urls = [target.requestURL] + [redirection?.url].compactMap(\.self)
        return urls.contains { url in
            origin.requestFields(for: url).map(VarySelection.mayHoldCredentials) ?? true
        }
    }
}
