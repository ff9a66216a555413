import AvatarCore
import AvatarFiles
import AvatarFoundation
import AvatarImages
import HTTPTypes

/// One fetch in a store that shares a tier: the tier first, then a claim, then the origin.
///
/// ```
/// newest answer in the tier ─► fresh ─► take it: no request to the origin
///        │ stale or none
///        ▼
/// claim ─► another machine asks ─► wait for its answer in the tier, for at most a minute
///        │ held
///        ▼
/// origin, with the tier's copy as if it were stored ─► 304, or no answer ─► the tier's bytes
/// ```
///
/// After any failure of the tier, the store asks the origin as it does without a tier.
struct TierFetch: Sendable {
    private let link: TierLink
    private let fetcher: Fetcher
    private let target: FetchTarget
    private let url: TierURL

    /// A fetch of the image of `target`.
    init(_ link: TierLink, _ fetcher: Fetcher, _ target: FetchTarget) {
        (self.link, self.fetcher, self.target) = (link, fetcher, target)
        url = TierURL(target)
    }

    // MARK: All of it

    /// The result of the tier or of the origin.
    ///
    /// - Parameter origin: asks the origin.
    /// - Returns: `nil` if it gives way to another machine.
    /// - Throws: `CancellationError`; an error of `origin`, if the tier has no copy either.
    package func run(
        _ patience: AnswerPatience,
        origin: (FetchTarget) async throws -> FetchResult
    ) async throws -> FetchResult? {
        guard link.serves(target) else { return try await origin(target) }
        let began = fetcher.clock.now()
        var copy: TierReader.Copy?
        var claim: TierClaims.Held?
        do {
            switch try await prepareInTime(patience) {
            case .settled(let content, let fetched): return result(content, fetched: fetched, began: began)
            case .mustAsk(let stale, let held): (copy, claim) = (stale, held)
            case .mustWait: return nil
            }
        } catch is TierUnavailable {
            // The origin is asked as without a tier.
        } catch is DeadlinePassed {
            link.gate.noteSlowCall()
        }
        do {
            let result = try await ask(origin, with: copy, began: began)
            if let claim {
                if link.wants(result, of: target, by: fetcher) {
                    link.uploads.keep(claim, of: target.key)
                } else {
                    await giveUp(claim)
                }
            }
            return result
        } catch {
            if let claim { await giveUp(claim) }
            throw error
        }
    }

    /// The fresh answer of the tier whose key is known from a listing.
    ///
    /// - Returns: `nil` if the tier has no such answer any more, or is unavailable.
    /// - Throws: `CancellationError`.
    func take(_ generation: TierGeneration) async throws -> FetchResult? {
        let began = fetcher.clock.now()
        do {
            guard case .settled(let content, let fetched) = try await judge(generation) else { return nil }
            return result(content, fetched: fetched, began: began)
        } catch is TierUnavailable {
            return nil
        }
    }

    // MARK: Before the origin

    /// The most times that a turn looks for an answer and a claim.
    private static let mostRounds = 5

    private enum Preparation: Sendable {
        /// The tier has the answer.
        case settled(FetchResult.Content, fetched: Timestamp? = nil)
        /// The origin must be asked. Another machine's stale copy and the claim, if there are any.
        case mustAsk(TierReader.Copy?, TierClaims.Held?)
        /// Another machine asks the origin.
        case mustWait
    }

    /// As `prepare`. A reader does not wait for a slow tier for longer than for another machine.
    private func prepareInTime(_ patience: AnswerPatience) async throws -> Preparation {
        guard case .waiting(let time) = patience else { return try await prepare(patience) }
        let limit = min(time * 2, fetcher.timeout)
        return try await Deadlines.shared.run(limit) { try await prepare(patience) }
    }

    /// Looks for the answer in the tier, and claims the origin.
    private func prepare(_ patience: AnswerPatience) async throws -> Preparation {
        try await link.register()
        let begun: ContinuousClock.Instant, end: ContinuousClock.Instant
        switch patience {
        case .givingWay:
            begun = target.turn.yielded ?? .now
            // At a later turn nothing else may be left to do.
            end = .now + (target.turn.yielded == nil ? .zero : .seconds(2))
        case .waiting(let time): (begun, end) = (.now, .now + time)
        }
        var newest = try await newest()
        var rounds = 0
        while true {
            let view = try await judge(newest)
            guard case .mustAsk(let stale, _) = view else { return view }
            // Each round has a reason, such as a claim that ended. One that comes back again and again is a fault of the tier.
            rounds += 1
            guard rounds <= Self.mostRounds else { return view }
            // A machine whose claim has ended died, or is too slow.
            let attempt = Int((ContinuousClock.now - begun) / TierClaims.patience)
            guard attempt < TierClaims.mostAttempts else { return view }
            switch try await link.claims.take(url, after: newest?.time, attempt: attempt) {
            case .held(var claim):
                // Another machine may have put its answer, and ended its claim, since the tier was looked at.
                let later = try await link.reader.newest(of: url)
                if later == newest {
                    claim.replaced = newest
                    return .mustAsk(stale, claim)
                }
                link.claims.noteRival()
                await giveUp(claim)
                newest = later
            case .unsupported: return view
            case .taken:
                link.claims.noteRival()
                switch try await waitForAnswer(after: newest, attempt: attempt, until: end) {
                case .answer(let later): newest = later
                case .claimEnded: break
                case .timeout:
                    guard case .givingWay = patience else { return view }
                    return .mustWait
                }
            }
        }
    }

    /// The newest answer in the tier, as the sync has listed it or by a request. While other machines are at the same list, the
    /// listing is soon out of date.
    private func newest() async throws -> TierGeneration? {
        if case .known(let answer) = target.listed, !link.claims.hasRivals { return answer }
        return try await link.reader.newest(of: url)
    }

    private enum Wait {
        case answer(TierGeneration)
        /// The other machine gave its claim up, so the next round is due at once.
        case claimEnded
        /// The other machine still has its claim.
        case timeout
    }

    /// Waits until `end` for the next answer in the tier after `newest`.
    private func waitForAnswer(
        after newest: TierGeneration?,
        attempt: Int,
        until end: ContinuousClock.Instant
    ) async throws -> Wait {
        var pause = Duration.milliseconds(100)
        while true {
            // The claim itself may have taken long, so the first look comes at once.
            if let later = try await link.reader.newest(of: url),
                later.time > newest?.time ?? Timestamp(milliseconds: 0)
            {
                return .answer(later)
            }
            guard try await link.claims.isTaken(url, after: newest?.time, attempt: attempt) else { return .claimEnded }
            guard ContinuousClock.now < end else { return .timeout }
            try await Deadlines.shared.sleep(for: pause * Double.random(in: 0.5...1.5))
            pause = min(pause * 2, .seconds(2))
        }
    }

    /// The meaning of an answer in the tier for the image.
    private func judge(_ newest: TierGeneration?) async throws -> Preparation {
        let now = fetcher.clock.now()
        guard let newest, newest.isNews(to: fetcher.isConfirmable(target) ? target.entry : nil) else {
            return .mustAsk(nil, nil)
        }
        guard let digest = newest.digest else {
            guard newest.isFresh(at: now) else { return .mustAsk(nil, nil) }
            return .settled(.failed(FetchFailure(goneByTier: fetcher.named(target))))
        }
        if newest.isFresh(at: now), let confirmed = confirmation(by: newest, of: digest) {
            return .settled(.notModified(confirmed))
        }
        guard let copy = try await link.reader.copy(of: url, newest) else { return .mustAsk(nil, nil) }
        let metadata = copy.record.metadata(of: target.requestURL, now: now)
        if let request = fetcher.origin.requestFields(for: target.requestURL),
            metadata.selection?.matches(request) == false
        {
            return .mustAsk(nil, nil)
        }
        let response = AssessedResponse(metadata, under: fetcher.limits.freshness)
        let isFresh = newest.isFresh(at: now) && response.freshness.isFresh(at: now)
        if hasImage(digest) { return isFresh ? .settled(.notModified(response)) : .mustAsk(nil, nil) }
        guard isFresh else { return .mustAsk(copy, nil) }
        guard let content = try await image(of: copy, response) else { return .mustAsk(nil, nil) }
        return .settled(content, fetched: Timestamp(milliseconds: copy.record.fetched))
    }

    /// The stored response, if `newest` confirms its image: its key alone says so. In strict mode, and where the response
    /// varies, the header fields count too, which are in the record.
    private func confirmation(by newest: TierGeneration, of digest: [UInt8]) -> AssessedResponse? {
        guard hasImage(digest), fetcher.limits.freshness.mode == .offlineFirst, let stored = fetcher.metadata(target),
            stored.selection == nil
        else { return nil }
        return AssessedResponse(
            stored,
            confirmed: newest.time,
            freshUntil: newest.freshUntil,
            under: fetcher.limits.freshness
        )
    }

    /// Whether the entry has the image with this digest, or the store ignores it.
    private func hasImage(_ digest: [UInt8]) -> Bool {
        fetcher.isConfirmable(target) && target.entry?.sha256 == digest && target.entry?.isLowData == target.isLowData
    }

    // MARK: The origin

    /// The answer of the origin; another machine's copy if it confirms that one, or gives none.
    private func ask(
        _ origin: (FetchTarget) async throws -> FetchResult,
        with copy: TierReader.Copy?,
        began: Timestamp
    ) async throws -> FetchResult {
        guard let copy, !fetcher.isConfirmable(target) else { return try await origin(target) }
        let metadata = copy.record.metadata(of: target.requestURL, now: began)
        var asked = target
        asked.standIn = FetchTarget.StandIn(metadata: metadata, fetched: Timestamp(milliseconds: copy.record.fetched))
        var result: FetchResult
        do {
            result = try await origin(asked)
        } catch let failure as FetchFailure {
            // The host is paused, so it gets no request.
            guard let content = try await stale(copy, metadata) else { throw failure }
            return self.result(content, fetched: Timestamp(milliseconds: copy.record.fetched), began: began)
        }
        switch result.content {
        case .image: break
        case .notModified(let response):
            guard let content = try await takeBytes(of: copy, response) else { return try await origin(target) }
            (result.content, result.fetched) = (content, Timestamp(milliseconds: copy.record.fetched))
        case .failed(let failure):
            guard failure.kind != .gone, !failure.isRefusal, failure.storeError == nil,
                let content = try await stale(copy, metadata)
            else { break }
            (result.content, result.originFailure) = (content, failure)
            result.fetched = Timestamp(milliseconds: copy.record.fetched)
        }
        return result
    }

    private func stale(_ copy: TierReader.Copy, _ metadata: ResponseMetadata) async throws -> FetchResult.Content? {
        try await takeBytes(of: copy, AssessedResponse(metadata, under: fetcher.limits.freshness))
    }

    private func takeBytes(
        of copy: TierReader.Copy,
        _ response: AssessedResponse
    ) async throws -> FetchResult.Content? {
        do {
            return try await image(of: copy, response)
        } catch is TierUnavailable {
            return nil
        }
    }

    /// The image of `copy`, checked as one of an origin; `nil` if its bytes are gone or cannot be stored here.
    private func image(of copy: TierReader.Copy, _ response: AssessedResponse) async throws -> FetchResult.Content? {
        guard response.freshness.allowsStore,
            let bytes = try await link.reader.bytes(of: copy, limit: fetcher.limits.maximumImageBytes)
        else { return nil }
        do {
            let content = try fetcher.image(bytes, status: 200, response.metadata, for: target)
            guard case .image(let image, _) = content else { return nil }
            return .image(image, response)
        } catch is ImageRejection {
            // The limits of this machine may be lower than those of the one that put it there.
            return nil
        }
    }

    // MARK: Results

    private func giveUp(_ claim: TierClaims.Held) async {
        do {
            try await link.claims.end(claim)
        } catch {
            // The gate has recorded it, or the task is cancelled. Others wait for a minute then.
        }
    }

    private func result(_ content: FetchResult.Content, fetched: Timestamp?, began: Timestamp) -> FetchResult {
        var result = FetchResult(content: content, began: began, ended: fetcher.clock.now())
        (result.isFromSource, result.fetched) = (true, fetched)
        link.gate.count { counts in
            switch content {
            case .image: counts.taken += 1
            case .notModified: counts.confirmed += 1
            case .failed: break
            }
        }
        return result
    }
}

extension FetchFailure {
    /// Another machine asked the origin, which has no image.
    fileprivate init(goneByTier name: String) {
        self.init(kind: .gone, message: "\(name) has no image, as another machine learned from its origin.")
    }
}
