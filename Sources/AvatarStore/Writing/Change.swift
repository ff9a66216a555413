import AvatarCore
import AvatarFiles

/// One change of an entry, to be committed with others.
struct Change: Sendable {
    var key: AvatarKey
    /// What is fetched; `nil` for an own image.
    var sourceURL: String?
    /// Name and port of the source URL's host.
    var host: String?
    /// The contacts that use the image.
    var owners: [String] = []
    var content: Content

    enum Content: Sendable {
        /// A new image; `validation` is `nil` where what the index knows of the origin stays as it is.
        case image(StagedImage, validation: ValidationRecord?)
        /// The origin confirmed what is stored.
        case confirmed(ValidationRecord)
        /// The image could not be had. Nothing that is stored changes.
        case failed(FailureKind, checked: Timestamp, retryAfter: Timestamp?)
        /// Only the owners change.
        case linked
    }

    var image: StagedImage? {
        if case .image(let image, _) = content { return image }
        return nil
    }
}

/// What became of a change.
enum ChangeResult: Sendable {
    /// The image is stored; `isChanged`: it replaced other bytes.
    case stored(isChanged: Bool)
    /// Everything else that was to be recorded is.
    case recorded
    /// There is no room for the image, and none may be made.
    case overBudget(AvatarStoreError)
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
    }

    init(_ limits: Limits) {
        self.limits = limits
    }

    func allowsEviction(of file: Int64) -> Bool {
        if case .files(let files) = protection { return !files.contains(file) }
        return true
    }
}

/// Something has to be evicted, and the caller must first say which files may not. Nothing was changed.
struct ProtectionNeeded: Error {}
