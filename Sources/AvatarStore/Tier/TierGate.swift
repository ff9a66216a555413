import AvatarCore
import AvatarFoundation
import AvatarIndex
package import AvatarProviders
import Logging

/// The shared tier is away, slow, full, or gave something else than it must. The store goes on without it.
struct TierUnavailable: Error {}

/// The only way to a shared tier: bounds each call, and leaves a tier that fails alone for a while.
///
/// The store never needs the tier. After a failure the gate is closed for half a minute, twice as long after each further one
/// and at most ten minutes. Reads and writes have their own halves of the gate, so a tier that is full or read-only still gives
/// what it has. An object that is not as it must be closes nothing: it counts as absent.
final class TierGate: Sendable {
    /// The direction of a call.
    enum Way: Int, CaseIterable, Sendable {
        case read, write
    }

    /// One half of the gate.
    private struct Half {
        /// When it opens again; `nil` while it is open.
        var closedUntil: ContinuousClock.Instant?
        /// Failures since the last success.
        var failures = 0
        /// When the last failure ended.
        var failed = ContinuousClock.now
        /// Slow calls since the last fast one.
        var slowCalls = 0
        /// The last failure; `nil` after a success.
        var failure: (message: String, time: Timestamp)?

        var isOpen: Bool { closedUntil.map { $0 <= .now } ?? true }
    }

    private struct State {
        var halves = [Half(), Half()]
        /// The last object that is not as it must be.
        var refusal: (message: String, time: Timestamp)?
        /// The last lines in the log, and their times.
        var logged: [String: ContinuousClock.Instant] = [:]
        var counts = TierCounts()
        /// Whether a call ended since the counts were taken.
        var isUsed = false
    }

    private let tier: any SharedTier
    private let clock: any WallClock
    private let logger: Logger
    /// The time for a call.
    private let callLimit: Duration
    private let state = Locked(State())

    /// The shortest and the longest time for which the gate is closed.
    private static let shortestRest = Duration.seconds(30)
    private static let longestRest = Duration.seconds(600)
    /// The time after which a call is slow, and the slow calls in a row that count as a failure: a sync makes several calls for
    /// each image.
    private var slowTime: Duration { callLimit * 3 / 10 }
    private static let mostSlowCalls = 6
    /// The time after which a line appears in the log again.
    private static let silence = Duration.seconds(3600)

    /// An open gate to `tier`.
    ///
    /// - Parameter callLimit: the time for a call.
    init(_ tier: any SharedTier, callLimit: Duration, clock: any WallClock, logger: Logger) {
        (self.tier, self.callLimit, self.clock, self.logger) = (tier, callLimit, clock, logger)
    }

    // MARK: Calls

    /// Whether calls are made.
    func isOpen(_ way: Way) -> Bool {
        state.withLock { $0.halves[way.rawValue].isOpen }
    }

    /// The result of `body`.
    ///
    /// - Parameter limit: the time for the call. Default: `nil`, the one of the gate.
    /// - Throws: `TierUnavailable` while the gate is closed, and after a failure; `CancellationError`.
    func call<Result: Sendable>(
        _ way: Way,
        within limit: Duration? = nil,
        _ body: @escaping @Sendable (any SharedTier) async throws -> Result
    ) async throws -> Result {
        guard isOpen(way) else { throw TierUnavailable() }
        // A tier that ignores cancellation must not keep a loop going.
        try Task.checkCancellation()
        let (tier, began) = (tier, ContinuousClock.now)
        do {
            let result = try await Deadlines.shared.run(limit ?? callLimit) { try await body(tier) }
            succeed(way, began, isTimed: limit == nil)
            return result
        } catch let error as CancellationError {
            throw error
        } catch let error as SharedTierError {
            switch error.kind {
            case .invalidObject: refuse(error.message)
            // A tier that is full, or forbids one way, may still allow the other.
            case .denied, .full: fail([way], error.message)
            case .unavailable, .slowDown, .noBucket, .invalidConfiguration: fail(Way.allCases, error.message)
            }
        } catch is DeadlinePassed {
            fail(Way.allCases, "The shared tier took longer than \(Self.text(limit ?? callLimit)) for one request.")
        } catch {
            fail(Way.allCases, "The shared tier failed: \(error)")
        }
        throw TierUnavailable()
    }

    /// The keys with `prefix` after `position`, as `SharedTier.list`.
    ///
    /// - Throws: as `call`; `TierUnavailable` also for a page that promises more and does not advance.
    func list(_ prefix: String, after position: String? = nil) async throws -> SharedTierPage {
        try await call(.read) { try await $0.list(prefix: prefix, after: position).advancing(beyond: position) }
    }

    /// Passes each key with `prefix` to `body`.
    ///
    /// - Parameter bounds: the pages and the time after which the listing counts as one without an end, which is a failure of the
    ///   tier.
    /// - Throws: as `list`.
    func forEachKey(_ prefix: String, _ bounds: ListingBounds, _ body: (String) -> Void) async throws {
        let end = ContinuousClock.now + bounds.time
        var position: String?
        for _ in 0..<bounds.pages where ContinuousClock.now < end {
            let page = try await list(prefix, after: position)
            page.keys.forEach(body)
            guard page.isTruncated else { return }
            position = page.keys.last
        }
        fail([.read], SharedTierError.endlessListing(prefix).message)
        throw TierUnavailable()
    }

    /// The most that a listing may cost. A page has up to 1,000 keys.
    struct ListingBounds {
        let pages: Int
        let time: Duration

        /// The objects of one URL or machine.
        static let ofOne = Self(pages: 10, time: .seconds(30))
        /// All tombstones, or all machines.
        static let ofErasures = Self(pages: 1_000, time: .seconds(30))
        /// All records.
        static let ofRecords = Self(pages: 50_000, time: .seconds(300))
    }

    /// Records a success.
    ///
    /// - Parameter isTimed: whether the duration of the call tells how fast the tier is. A large object takes its time.
    private func succeed(_ way: Way, _ began: ContinuousClock.Instant, isTimed: Bool) {
        let isTooSlow = state.withLock { state in
            state.isUsed = true
            var half = state.halves[way.rawValue]
            let isSlow = isTimed && .now - began > slowTime
            // A call that began before the failure says nothing about what came after.
            if !isSlow, half.failure != nil, began > half.failed { half = Half() }
            half.slowCalls = isSlow ? half.slowCalls + 1 : 0
            state.halves[way.rawValue] = half
            return half.slowCalls >= Self.mostSlowCalls
        }
        if isTooSlow {
            let calls = "each of the last \(Self.mostSlowCalls) requests"
            fail(Way.allCases, "The shared tier took longer than \(Self.text(slowTime)) for \(calls).")
        }
    }

    /// Records that a reader did not wait for a call to end.
    func noteSlowCall() {
        let isTooSlow = state.withLock { state in
            state.halves[Way.read.rawValue].slowCalls += 1
            return state.halves[Way.read.rawValue].slowCalls >= Self.mostSlowCalls / 2
        }
        if isTooSlow { fail(Way.allCases, "The shared tier did not respond before the time limit of readers.") }
    }

    private static func text(_ time: Duration) -> String { "\(Int(time / .seconds(1))) seconds" }

    private func fail(_ ways: [Way], _ message: String) {
        state.withLock { state in
            for way in ways {
                var half = state.halves[way.rawValue]
                // Calls that were under way together fail together.
                if half.isOpen {
                    half.closedUntil = .now + min(Self.shortestRest * (1 << min(half.failures, 5)), Self.longestRest)
                    half.failures += 1
                }
                (half.failed, half.failure, half.slowCalls) = (.now, (message, clock.now()), 0)
                state.halves[way.rawValue] = half
            }
            state.isUsed = true
        }
        log("The shared tier fails, so images come from their origins.", message)
    }

    // MARK: Faults

    /// Records an object that is not as it must be, and passes it over.
    func refuse(_ message: String) {
        state.withLock { ($0.refusal, $0.isUsed) = ((message, clock.now()), true) }
        log("An object of the shared tier is not valid and is ignored.", message)
    }

    /// Logs a line, unless it was logged within the last hour. Of many bad objects only the first one is worth a line.
    private func log(_ line: String, _ message: String) {
        let isNews = state.withLock { state in
            guard state.logged[line].map({ .now - $0 >= Self.silence }) ?? true else { return false }
            state.logged[line] = .now
            return true
        }
        if isNews { logger.warning("\(line)", metadata: ["error": "\(message)"]) }
    }

    // MARK: Counts

    /// Changes the counts.
    package func count(_ change: (inout TierCounts) -> Void) {
        state.withLock { change(&$0.counts) }
    }

    /// Takes the counts since the last call, and the last failure; `nil` if the tier was not used.
    func takeUse() -> (counts: TierCounts, failure: (message: String, time: Timestamp)?)? {
        state.withLock { state in
            guard state.isUsed else { return nil }
            defer { (state.counts, state.isUsed) = (TierCounts(), false) }
            return (state.counts, state.halves.lazy.compactMap(\.failure).first ?? state.refusal)
        }
    }
}

extension SharedTierPage {
    /// The page that follows `position`.
    ///
    /// - Throws: `SharedTierError` if more pages follow, but this one does not lead to another place.
    package func advancing(beyond position: String?) throws -> SharedTierPage {
        guard !isTruncated || keys.last.map({ $0 != position }) == true else {
            throw SharedTierError(
                .unavailable,
                "The shared tier lists the same page again after \(position.map { "\"\($0)\"" } ?? "the begin")."
            )
        }
        return self
    }
}

extension SharedTierError {
    /// The error for a listing that goes on and on.
    package static func endlessListing(_ prefix: String) -> SharedTierError {
        SharedTierError(.unavailable, "The shared tier lists \"\(prefix)\" without an end.")
    }
}
