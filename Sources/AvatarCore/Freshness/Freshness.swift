/// The freshness of a stored response under a policy (RFC 9111 section 4.2). Durations are in seconds.
package struct Freshness: Hashable, Sendable {
    /// The freshness lifetime, counted from when the origin generated or confirmed the response.
    package var lifetime: Int64
    /// The age of the response on arrival (section 4.2.3).
    package var initialAge: Int64
    /// When the response arrived.
    package var responseTime: Timestamp
    /// The response is fresh before this time and stale from then on. Never earlier than `responseTime`.
    package var freshUntil: Timestamp
    /// Whether the store may keep the response.
    package var allowsStore: Bool
    /// Whether a stale response must not be served before the origin has confirmed it, even if the origin fails.
    package var mustRevalidate: Bool
    /// Whether a stale response may always be served (`CachingMode.offlineFirst`).
    package var servesStaleFreely: Bool
    /// How long a stale response may be served if the origin fails with an error (stale-if-error, RFC 5861).
    package var staleIfError: Int64
    /// The rule that determined `freshUntil`.
    package var reason: Reason

    /// The reason to serve a stale response.
    package enum StaleCause: Hashable, Sendable {
        /// The origin is unreachable, or a request is not allowed.
        case disconnected
        /// The origin responded with a 5xx status, or the response broke off.
        case originError
        /// The origin sent another response, or a body that is not an image. Such a response replaces the stored one
        /// (RFC 9111 section 4.3.3).
        case answered

        /// The cause that a failure of `kind` is.
        package init(_ kind: FailureKind) {
            switch kind {
            case .serverError, .truncated: self = .originError
            case .offline, .unreachable, .timeout, .storage, .forbiddenAddress, .unsupportedURL: self = .disconnected
            default: self = .answered
            }
        }
    }

    /// Whether the response is fresh at `now`, so that it may be served without a request.
    ///
    /// It is stale if it arrived much later than `now`: then a clock that ran ahead wrote its time.
    package func isFresh(at now: Timestamp) -> Bool {
        max(now, responseTime) < freshUntil && !responseTime.isAhead(of: now)
    }

    /// The current age at `now` in seconds (section 4.2.3). It is never less than the age on arrival, even if the clock
    /// was set back.
    package func currentAge(at now: Timestamp) -> Int64 {
        DeltaSeconds.clamped(initialAge + DeltaSeconds.clamped(now.seconds(since: responseTime)))
    }

    /// When the next check is due: at the end of freshness, or up to a tenth of the lifetime later, at most 6 hours.
    ///
    /// The delay spreads entries that were stored together. A lifetime of less than a minute has no delay.
    ///
    /// - Parameter jitter: a random number from 0 to 1, a new one for each entry.
    package func nextCheck(jitter: Double) -> Timestamp {
        let seconds = freshUntil.seconds(since: responseTime)
        guard seconds >= 60 else { return freshUntil }
        let spread = min(seconds / 10, 21_600) * 1000
        return freshUntil.adding(milliseconds: Int64(Double(spread) * min(max(jitter, 0), 1)))
    }

    /// Whether the stale response may be served at `now` (section 4.2.4).
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - cause: the reason why the origin has not confirmed it.
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
    /// The rule that determined how long a response is fresh. Later versions may add reasons.
    package struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The spelling of the reason, the same in all versions.
        package let rawValue: String

        /// The reason spelled `rawValue`.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Cache-Control: max-age.
        package static let maxAge = Reason(rawValue: "maxAge")
        /// Expires.
        package static let expires = Reason(rawValue: "expires")
        /// A fraction of the time since Last-Modified (section 4.2.2).
        package static let heuristic = Reason(rawValue: "heuristic")
        /// `FreshnessPolicy.defaultLifetime`, because the response has no other information.
        package static let defaultLifetime = Reason(rawValue: "defaultLifetime")
        /// Stale at once, because the response has no information and the mode is `strict`.
        package static let unspecified = Reason(rawValue: "unspecified")
        /// Cache-Control: no-cache.
        package static let noCache = Reason(rawValue: "noCache")
        /// Cache-Control: no-store.
        package static let noStore = Reason(rawValue: "noStore")
        /// Pragma: no-cache, without a Cache-Control field.
        package static let pragma = Reason(rawValue: "pragma")
        /// Vary: `*`.
        package static let varyAll = Reason(rawValue: "varyAll")
        /// Vary names a request field that has changed since.
        package static let varied = Reason(rawValue: "varied")
        /// `FreshnessPolicy.minimum`.
        package static let minimum = Reason(rawValue: "minimum")
        /// `FreshnessPolicy.maximum`.
        package static let maximum = Reason(rawValue: "maximum")
        /// A redirect on the way, which expires earlier than the image.
        package static let redirect = Reason(rawValue: "redirect")

        /// The reason in words, as in "It is fresh for another 3 h (Cache-Control: max-age)."
        package var description: String {
            switch self {
            case .maxAge: "Cache-Control: max-age"
            case .expires: "Expires"
            case .heuristic: "estimated from Last-Modified"
            case .defaultLifetime: "the setting default-freshness, because the response states no lifetime"
            case .unspecified: "the response states no lifetime"
            case .noCache: "Cache-Control: no-cache"
            case .noStore: "Cache-Control: no-store"
            case .pragma: "Pragma: no-cache"
            case .varyAll: "Vary: *"
            case .varied: "a request field that Vary names has changed"
            case .minimum: "the setting minimum-freshness"
            case .maximum: "the setting maximum-freshness"
            case .redirect: "the redirect that led to it"
            default: rawValue
            }
        }
    }
}
