import AvatarCore
import AvatarFiles

/// One change of an entry, to be committed with others.
struct Change: Sendable {
    var key: AvatarKey
    /// What is fetched; `nil` for an own image.
    var sourceURL: String?
    /// Name and port of the source URL's host.
    var host: String?
    /// Where there is a smaller image for constrained networks, and whether this is it.
    var lowDataURL: String?
    var isLowData = false
    /// Whether nobody asked for the image but a sync that found its entry.
    var isRefresh = false
    /// The contacts that use the image.
    var owners: [String] = []
    /// Whether these contacts stay linked to URLs that are gone and have no file: candidates that come before this image, and
    /// take its place once they are back.
    var keepsGone = false
    /// `nil` where no origin was asked.
    var order: AnswerOrder?
    /// What the answer says of the host that was asked; `nil` where that is nothing new.
    var hostNote: HostNote?
    /// Name and port of that host: for a smaller image, perhaps another one.
    var askedHost: String?
    var content: Content

    enum Content: Sendable {
        /// A new image; `validation` is `nil` where there is no origin.
        case image(StagedImage, validation: ValidationRecord?)
        /// The entry's own bytes for another class, valid while its file is `file`.
        case moved(StagedImage, file: Int64)
        /// The origin confirmed the entry's file `file`.
        case confirmed(ValidationRecord, file: Int64)
        /// The image could not be had. Nothing that is stored changes.
        case failed(FailureKind, checked: Timestamp, retryAfter: Timestamp?)
        /// Only the owners change.
        case linked
    }

    var image: StagedImage? {
        switch content {
        case .image(let image, _), .moved(let image, _): image
        case .confirmed, .failed, .linked: nil
        }
    }
}

/// What tells whether an answer of an origin was overtaken by another on its way into the index.
struct AnswerOrder: Sendable {
    /// When its request was sent.
    var requested: Timestamp
    /// The last check of the entry that was known then.
    var lastCheck: Timestamp?
}

extension Change {
    /// What it may add to what counts against the budget.
    var cacheBytes: Int {
        image.map { $0.storageClass == .caches ? $0.sizeBytes : 0 } ?? 0
    }
}

/// What became of a change.
enum ChangeResult: Sendable {
    /// The image is stored in the file `file`; `isChanged`: it replaced other bytes.
    case stored(file: Int64, isChanged: Bool)
    /// Everything else that was to be recorded is.
    case recorded
    /// There is no room for the image, and none may be made.
    case overBudget(AvatarStoreError)
    /// The file that was to be moved is no longer the entry's; nothing was done.
    case superseded(AvatarStoreError)
}

/// What became of changes that were committed together.
struct CommitSummary: Sendable {
    /// In the order of the changes.
    var results: [ChangeResult]
    /// Files that were evicted to make room.
    var evicted = 0

    static func + (left: CommitSummary, right: CommitSummary) -> CommitSummary {
        CommitSummary(results: left.results + right.results, evicted: left.evicted + right.evicted)
    }
}

/// What a commit may do to make room.
struct RoomRules: Sendable {
    var limits: Limits
    /// Only files used before this time, in microseconds, may be evicted.
    var accessedBefore = Int64.max
    /// Files that may not be evicted.
    var protection = Protection.none

    enum Protection: Sendable {
        case none
        /// Which files to keep is not known yet: if something has to be evicted, `ProtectionNeeded` is thrown.
        case unknown
        case files(Set<Int64>)
        /// Nothing may be evicted.
        case everything
    }

    init(_ limits: Limits) {
        self.limits = limits
    }

    func allowsEviction(of file: Int64) -> Bool {
        switch protection {
        case .none, .unknown: true
        case .files(let files): !files.contains(file)
        case .everything: false
        }
    }
}

/// Something has to be evicted, and the caller must first say which files may not. Nothing was changed.
struct ProtectionNeeded: Error {}
