/// What a stored response's header fields come to under a policy (RFC 9111 section 4.2). Times are in seconds.
package struct Freshness: Hashable, Sendable {
    /// How long the response is fresh, counted from when the origin made or confirmed it.
    package var lifetime: Int64
    /// How old the response was when it arrived (section 4.2.3).
    package var initialAge: Int64
    /// When the response arrived.
    package var responseTime: Timestamp
    /// The response is fresh before this time, and stale from it on. Never before `responseTime`.
    package var freshUntil: Timestamp
    /// Whether the response may be kept at all.
    package var allowsStore: Bool
    /// Whether a stale response may not be served before the origin has confirmed it, whatever the need.
    package var mustRevalidate: Bool
    /// Whether staleness is nobody's concern but the next check's (`CachingMode.offlineFirst`).
    package var servesStaleFreely: Bool
    /// For how long a stale response may be served when the origin answers with an error (RFC 5861).
    package var staleIfError: Int64
    /// What decided on `freshUntil`.
    package var reason: Reason

    /// Why a stale response is to be served.
    package enum StaleCause: Hashable, Sendable {
        /// The origin cannot be reached, or must not be asked.
        case disconnected
        /// The origin answered with an error of its own (5xx), or broke off.
        case originError
        /// The origin gave another answer, or one that is no image: it takes the place of what is stored (RFC 9111
        /// section 4.3.3).
        case answered

        /// What a failure of `kind` is.
        package init(_ kind: FailureKind) {
            switch kind {
            case .serverError, .truncated: self = .originError
            case .offline, .unreachable, .timeout, .storage, .forbiddenAddress, .unsupportedURL: self = .disconnected
            default: self = .answered
            }
        }
    }

    /// Whether the response may be served at `now` without asking.
    ///
    /// It may not where it arrived much later than now: its time was written by a clock that ran ahead.
    package func isFresh(at now: Timestamp) -> Bool {
        max(now, responseTime) < freshUntil && !responseTime.isAhead(of: now)
    }

    /// The response's age at `now` (section 4.2.3). A clock that was put back makes nothing younger than on arrival.
    package func currentAge(at now: Timestamp) -> Int64 {
        DeltaSeconds.clamped(initialAge + DeltaSeconds.clamped(now.seconds(since: responseTime)))
    }

    /// When the origin is asked next: at the end of freshness, or up to a tenth of it later, 6 hours at most.
    ///
    /// So entries that were stored in one night do not come due in one second. What is fresh for less than a minute is
    /// not spread.
    /// - Parameter jitter: 0 to 1, drawn anew for each entry.
    package func nextCheck(jitter: Double) -> Timestamp {
        let seconds = freshUntil.seconds(since: responseTime)
        guard seconds >= 60 else { return freshUntil }
        let spread = min(seconds / 10, 21_600) * 1000
        return freshUntil.adding(milliseconds: Int64(Double(spread) * min(max(jitter, 0), 1)))
    }

    /// Whether the response may be served at `now` although it is stale (section 4.2.4).
    package func allowsStale(at now: Timestamp, because cause: StaleCause) -> Bool {
        guard !servesStaleFreely else { return true }
        guard !mustRevalidate else { return false }
        let staleness = responseTime.isAhead(of: now) ? .max : currentAge(at: now) - lifetime
        return switch cause {
        case .disconnected: true
        case .originError: staleness < staleIfError
        case .answered: false
        }
    }
}

extension Freshness {
    /// What decided how long a response is fresh. More may be added.
    package struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The stable spelling.
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        package static let maxAge = Reason(rawValue: "maxAge")
        package static let expires = Reason(rawValue: "expires")
        package static let heuristic = Reason(rawValue: "heuristic")
        package static let defaultLifetime = Reason(rawValue: "defaultLifetime")
        package static let unspecified = Reason(rawValue: "unspecified")
        package static let noCache = Reason(rawValue: "noCache")
        package static let noStore = Reason(rawValue: "noStore")
        package static let pragma = Reason(rawValue: "pragma")
        package static let varyAll = Reason(rawValue: "varyAll")
        package static let varied = Reason(rawValue: "varied")
        package static let minimum = Reason(rawValue: "minimum")
        package static let maximum = Reason(rawValue: "maximum")
        package static let redirect = Reason(rawValue: "redirect")

        /// The reason in words, as in "It is fresh for another 3 h: the origin's max-age."
        package var description: String {
            switch self {
            case .maxAge: "the origin's max-age"
            case .expires: "the origin's Expires date"
            case .heuristic: "a part of the time since Last-Modified"
            case .defaultLifetime: "the default, as the origin says nothing"
            case .unspecified: "no lifetime, as the origin says nothing"
            case .noCache: "the origin's no-cache"
            case .noStore: "the origin's no-store"
            case .pragma: "the origin's Pragma: no-cache"
            case .varyAll: "the origin's Vary: *"
            case .varied: "a change in what is sent, as the origin's Vary names it"
            case .minimum: "the configured minimum"
            case .maximum: "the configured maximum"
            case .redirect: "the redirect that led to it"
            default: rawValue
            }
        }
    }
}
