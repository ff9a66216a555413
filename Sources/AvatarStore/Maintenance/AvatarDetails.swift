public import AvatarCore

/// One entry in full, for a person who wants to know why it is as it is.
public struct AvatarDetails: Sendable {
    /// The columns of `avatar_overview`, and the contacts that use the image.
    public var overview: AvatarListItem
    /// The absolute path of the file.
    public var localFile: String?
    /// Whether the file is there with its indexed length.
    public var isFilePresent: Bool
    /// The digest of the file's bytes, in hexadecimal digits.
    public var sha256: String?
    /// The media type that the bytes prove.
    public var mediaType: String?
    /// In pixels.
    public var width: Int?
    /// In pixels.
    public var height: Int?
    /// The Last-Modified field, verbatim.
    public var lastModified: String?
    /// The stored header fields that freshness depends on, one "name: value" a line.
    public var responseFields: String?
    /// When the bytes last came from the origin.
    public var fetched: Timestamp?
    /// When the entry is due; `nil`: never.
    public var nextCheck: Timestamp?
    /// The kind of the last failure; `nil` after a success.
    public var failure: FailureKind?
    /// Failures in a row.
    public var failureCount: Int
    /// Other keys whose image is the same file.
    public var sharedWith: [AvatarKey]
    /// How many files are evicted before this one when room is needed; `nil` for a document, and without a file.
    public var evictedAfterFiles: Int?
    /// Sentences that say why it is fresh, stale or failing, and how soon it would be evicted.
    public var reasons: [String]
}

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
