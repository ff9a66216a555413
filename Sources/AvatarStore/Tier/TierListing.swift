import AvatarCore

/// The answers in the shared tier, as one sync lists them.
struct TierListing: AnswerListing {
    private let gate: TierGate
    private let clock: any WallClock
    private var catalog = TierCatalog()

    /// The pages that a sync lists at once: as many as a service with 12,000 images has.
    private static let firstPages = 12
    /// The most pages listed for one page of a list.
    private static let nextPages = 16
    /// The most time for them, during which the sync does nothing else.
    private static let longestTime = Duration.seconds(5)

    /// A listing that has listed nothing.
    init(_ gate: TierGate, clock: any WallClock) {
        (self.gate, self.clock) = (gate, clock)
    }

    mutating func extend(to urls: [String]) async {
        guard !catalog.isComplete, gate.isOpen(.read) else { return }
        let unknown = urls.count { !catalog.covers(TierURL($0)) }
        guard unknown > 0 else { return }
        let pages = catalog.position == nil ? Self.firstPages : min(unknown, Self.nextPages)
        let end = ContinuousClock.now + Self.longestTime
        do {
            for _ in 0..<pages where !catalog.isComplete && ContinuousClock.now < end {
                let page = try await gate.list(TierLayout.records, after: catalog.position)
                catalog.add(page.keys, isTruncated: page.isTruncated)
            }
        } catch {
            // The gate has recorded it, or the sync is cancelled. What is listed so far holds.
        }
    }

    var view: @Sendable (FetchTarget) -> ListedAnswer {
        { [catalog, clock] target in
            guard !target.isUnconditional, !target.isLowData, !target.isReduced else { return .unknown }
            let url = TierURL(target)
            guard let answer = catalog.generation(of: url) else { return catalog.covers(url) ? .known(nil) : .unknown }
            return answer.isNews(to: target.entry) && answer.isFresh(at: clock.now()) ? .answer(answer) : .known(answer)
        }
    }
}

extension TierGeneration {
    /// Whether the answer is newer than that of `entry`, or `entry` has no answer.
    func isNews(to entry: AvatarEntry?) -> Bool {
        guard let entry else { return true }
        guard let digest else {
            // A lack of the image is confirmed by this machine itself before a stored one goes.
            return entry.file == nil && time > entry.validation.checked ?? Timestamp(milliseconds: 0)
        }
        if entry.file == nil && !entry.isIgnored && entry.sha256 != digest { return true }
        return entry.file == nil || time > entry.validation.response ?? Timestamp(milliseconds: 0)
    }
}
