import AvatarCore

/// Says in sentences why an entry is in its state.
struct EntryExplanation {
    let entry: AvatarEntry
    let now: Timestamp
    /// Whether the file was seen with its indexed length.
    let isThere: Bool

    func freshness(_ policy: FreshnessPolicy) -> [String] {
        if entry.sourceURL == nil {
            guard entry.absence == nil, entry.file == nil || isThere else {
                let loss = entry.absence == .evicted ? "was evicted to keep the budget" : "is lost"
                return ["It is an own image without an origin, and its file \(loss): save it again."]
            }
            return ["It is an own image: it has no origin and is always fresh."]
        }
        var sentences: [String] = []
        if let absence = absence { sentences.append(absence) }
        if entry.isLowData {
            sentences.append("Its file is the smaller image for constrained networks; the image itself is to follow.")
        }
        if let failure = entry.validation.failure { sentences.append(failing(failure)) }
        guard entry.file != nil, let until = entry.validation.freshUntil else { return sentences }
        let judged = policy.assess(ResponseMetadata(stored: entry.validation))
        if until > now {
            sentences.append("It is fresh for another \(Self.span(until.seconds(since: now))): \(judged.reason).")
        } else {
            sentences.append("It has been stale for \(Self.span(now.seconds(since: until))): \(judged.reason).")
        }
        return sentences
    }

    /// How soon it goes, after `files` others; `used` of the `budget` bytes are in use.
    func eviction(after files: Int, used: Int, budget: Int) -> String {
        let order =
            switch files {
            case 0: "It is the first to be evicted when room is needed"
            case 1: "1 file was used less recently and would be evicted before it"
            default: "\(files) files were used less recently and would be evicted before it"
            }
        let room = ByteSize.text(max(0, budget - used))
        return
            "\(order). Room is needed once \(room) more are stored: \(ByteSize.text(used)) of \(ByteSize.text(budget)) are "
            + "in use."
    }

    private var absence: String? {
        switch entry.absence {
        case .evicted: "Its file was evicted to keep the budget; a read or a list that names it fetches it again."
        case .missing: "Its file was not where it belongs; it is fetched again when it is due or asked for."
        case nil: entry.file != nil && !isThere ? "Its file is gone; the next read or sync fetches it again." : nil
        }
    }

    private func failing(_ failure: FailureKind) -> String {
        let count = entry.validation.failureCount
        if entry.isKnownNone {
            return "Its source has no picture for the address; a list that has the address asks again."
        }
        let times = count == 1 ? "once" : "\(count) times in a row"
        guard let next = entry.validation.nextCheck, next > now else {
            return "The last check failed (\(failure), \(times)); the next one is due."
        }
        return
            "The last check failed (\(failure), \(times)); the next one is due in \(Self.span(next.seconds(since: now)))."
    }

    private static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(max(0, seconds)) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}
