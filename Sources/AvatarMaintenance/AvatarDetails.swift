public import AvatarReports
import AvatarStore
public import AvatarCore
import AvatarImages
import AvatarIndex

/// All that the store knows about one entry, with sentences that explain its state.
public struct AvatarDetails: Sendable {
    /// The entry as `AvatarStore.list(_:)` returns it, with the contacts that use the image.
    public var overview: AvatarListItem
    /// The names of the lists and address books that name these contacts, by the ids of the contacts, as `StoredContact.sources`. A
    /// contact that none names is left out.
    public var sources: [String: [String]]
    /// The absolute path of the file; `nil` without a file.
    public var localFile: String?
    /// Whether the file exists with its indexed length.
    public var isFilePresent: Bool
    /// The SHA-256 of the file's bytes, in hexadecimal digits.
    public var sha256: String?
    /// The media type found in the bytes, such as `image/png`.
    public var mediaType: String?
    /// The width in pixels; 0 for an SVG that states none.
    public var width: Int?
    /// The height in pixels; 0 for an SVG that states none.
    public var height: Int?
    /// Whether the file holds metadata: anything but the image, its colour profile, its resolution and its orientation. `nil`
    /// without a file, and for a file of an earlier version that no program has looked at since; `verify(repair:)` does.
    public var hasMetadata: Bool?
    /// The Last-Modified field as the origin sent it.
    public var lastModified: String?
    /// The stored response fields that freshness depends on, one "name: value" per line.
    public var responseFields: String?
    /// The time at which the bytes last came from the origin.
    public var fetched: Timestamp?
    /// The time at which the entry is due for a check; `nil`: never.
    public var nextCheck: Timestamp?
    /// The kind of the last failed check; `nil` after a success.
    public var failure: FailureKind?
    /// A sentence about that failure, whose URLs have no query; `nil` after a success, and if an earlier version recorded it.
    public var failureMessage: String?
    /// The number of failures in a row.
    public var failureCount: Int
    /// Other keys whose image is the same file.
    public var sharedWith: [AvatarKey]
    /// The number of files that are evicted before this one; `nil` for a document, and without a file.
    public var evictedAfterFiles: Int?
    /// The ThumbHash of the image, 5 to 25 bytes, even while it is evicted; `nil` until a rendition of it is made.
    public var thumbHash: [UInt8]?
    /// Sentences that explain why it is fresh, stale or failing, and how soon it would be evicted.
    public var reasons: [String]

    /// The usual file extension of the media type without its dot, such as `png`; `nil` without a file.
    package var fileExtension: String? { mediaType.map { ImageFormat(rawValue: $0).fileExtension } }
}

/// Explains in sentences why an entry is in its state.
struct EntryExplanation {
    let entry: AvatarEntry
    let now: Timestamp
    /// Whether the file exists with its indexed length.
    let isThere: Bool

    /// Sentences about the entry's freshness, its file and its last failure.
    func freshness(_ policy: FreshnessPolicy) -> [String] {
        if entry.sourceURL == nil {
            guard entry.absence == nil, entry.file == nil || isThere else {
                let loss = entry.absence == .evicted ? "was evicted to keep the budget" : "is lost"
                return ["It is your own image, without an origin, and its file \(loss): save it again."]
            }
            return ["It is your own image: it has no origin and is always fresh."]
        }
        var sentences: [String] = []
        if let absence = absence { sentences.append(absence) }
        if entry.isLowData {
            sentences.append(
                "Its file is the smaller image for metered networks; a sync on an unmetered one fetches the image itself."
            )
        }
        if let failure = entry.validation.failure { sentences.append(failing(failure)) }
        guard entry.file != nil, let until = entry.validation.freshUntil else { return sentences }
        let judged = policy.assess(ResponseMetadata(stored: entry.validation))
        if entry.validation.isFresh(at: now) {
            sentences.append("It is fresh for another \(Self.span(until.seconds(since: now))) (\(judged.reason)).")
        } else if until > now {
            sentences.append(
                "A clock that ran ahead wrote its times, so it counts as stale, and is due for revalidation."
            )
        } else {
            sentences.append(
                "It became stale \(Self.span(now.seconds(since: until))) ago (\(judged.reason)), and is due for revalidation."
            )
        }
        return sentences
    }

    /// A sentence about how soon it is evicted.
    ///
    /// - Parameter place: its position in the order of eviction.
    /// - Parameter used: the bytes in use, of the `budget` bytes.
    func eviction(at place: EvictionPlace, used: Int, budget: Int) -> String {
        let order =
            switch (place.filesBefore, place.isExact) {
            case (0, true): "It is the first to be evicted when room is needed"
            case (0, false): "It is evicted when room is needed, after renditions and images used less recently"
            case (1, true): "1 file would be evicted before it"
            case (let files, true): "\(files) files would be evicted before it"
            case (let files, false): "At least \(files) files would be evicted before it"
            }
        let room = ByteSize.text(max(0, budget - used), of: budget)
        return
            "\(order). The caches use \(ByteSize.text(used, of: budget)) of \(ByteSize.limit(budget)), so room is needed after \(room) of "
            + "new images."
    }

    /// A sentence about a file that is missing; `nil` if it is there.
    private var absence: String? {
        switch entry.absence {
        case .evicted: "Its file was evicted to keep the budget; a read or a list that names it fetches it again."
        case .missing: "Its file was missing; it is fetched again when it is due or read."
        case .ignored:
            "Its host sends an ignored image (\(Hexadecimal.text(entry.ignoredSHA256 ?? []))), so the store keeps none. It "
                + "will store another image of the host. `avatars ignore --undo DIGEST` stops ignoring this one."
        case nil: entry.file != nil && !isThere ? "Its file is missing; the next read or sync fetches it again." : nil
        }
    }

    /// A sentence about the last failure and the next check.
    private func failing(_ failure: FailureKind) -> String {
        let count = entry.validation.failureCount
        if entry.isKnownNone {
            return "Its source has no image for the address; a sync of a list with the address asks again."
        }
        let times = count == 1 ? "once" : "\(count) times in a row"
        let time = entry.validation.checked.map { " at \($0.localText)" } ?? ""
        let cause = entry.failureReason.map { ": \($0)" } ?? ""
        let wait = entry.validation.nextCheck.map { $0.seconds(since: now) } ?? 0
        let due = wait > 0 && !entry.validation.isDue(at: now) ? " in \(Self.span(wait))" : ""
        return "The last check failed (\(failure), \(times))\(time)\(cause). The next one is due\(due)."
    }

    /// A span of time in the largest unit that fits, such as `3 h`.
    private static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(max(0, seconds)) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}

extension AvatarEntry {
    /// The reason of the last failed check as the end of a sentence; `nil` without one.
    var failureReason: String? {
        validation.failureMessage.map { AvatarKey.reason(in: $0, about: sourceURL.map(AvatarKey.redact)) }
    }
}
