public import AvatarCore

/// A contradiction between index and files.
public struct VerificationFault: Hashable, Sendable {
    /// The kind of a fault. More kinds may be added.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable spelling.
        public let rawValue: String

        /// The kind spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A file that the index lists does not exist.
        public static let missing = Kind(rawValue: "missing")
        /// A file that no row names, or whose row no entry uses.
        public static let orphan = Kind(rawValue: "orphan")
        /// The length of a file differs from the index.
        public static let wrongSize = Kind(rawValue: "wrongSize")
        /// The SHA-256 of a file differs from the index.
        public static let wrongDigest = Kind(rawValue: "wrongDigest")
        /// The totals of a storage class are not the sums of its files.
        public static let wrongTotal = Kind(rawValue: "wrongTotal")
        /// Two rows name the same path, and its bytes are not this row's.
        public static let duplicatePath = Kind(rawValue: "duplicatePath")
        /// The index names a path outside its root, by its text or through a symbolic link.
        public static let outsideRoot = Kind(rawValue: "outsideRoot")
        /// Work of a dead process that could not be finished.
        public static let unfinished = Kind(rawValue: "unfinished")
        /// The index has a number that its column cannot have. `detail` names both.
        public static let wrongNumber = Kind(rawValue: "wrongNumber")
        /// The words by which a search finds contacts are not those of their names. `detail` has their number.
        public static let wrongWords = Kind(rawValue: "wrongWords")
        /// The index is damaged or lost.
        public static let damagedIndex = Kind(rawValue: "damagedIndex")
    }

    /// The kind of the fault.
    public var kind: Kind
    /// The absolute path of the file or folder concerned.
    public var path: String?
    /// The key of one entry concerned, if any.
    public var key: AvatarKey?
    /// The column or table of the index and its number, if the kind and the path do not name the fault; else `nil`.
    public var detail: String?

    package init(_ kind: Kind, path: String? = nil, key: AvatarKey? = nil, detail: String? = nil) {
        (self.kind, self.path, self.key, self.detail) = (kind, path, key, detail)
    }
}

/// Content that was lost with the index, because the files do not hold it.
public struct LostContent: Hashable, Sendable {
    /// The number of contacts with links to images; `nil` if it is not known, as the old index cannot be read.
    public var contacts: Int?
    /// The number of settings that were not at their defaults; `nil` if it is not known.
    public var settings: Int?
    /// The number of files that were deleted from `caches`.
    public var cachedImages = 0
    /// Paths of documents that could not be listed again, in the folder `set-aside`; the first 10,000 of them.
    public var documents: [String] = []
    /// The number of such documents.
    public var documentCount = 0

    /// Whether it is certain that nothing was lost.
    public var isNothing: Bool { contacts == 0 && settings == 0 && cachedImages == 0 && documentCount == 0 }

    package init() {}
}

/// The result of a verification.
public struct VerificationReport: Hashable, Sendable {
    /// The most faults that `faults` lists.
    package static let maximumListedFaults = 10_000

    /// The number of listed files that were compared.
    public var checked = 0
    /// The number of files that processes are publishing or removing, or were when they were killed. They are no
    /// faults: the next writer finishes the work of a dead process.
    public var pending = 0
    /// The first 10,000 faults.
    public private(set) var faults: [VerificationFault] = []
    /// The number of faults.
    public private(set) var faultCount = 0
    /// The number of faults that were repaired.
    public private(set) var repaired = 0

    /// The content that could not be recovered when the index was rebuilt from the files; `nil` if it was not rebuilt.
    public package(set) var lost: LostContent?

    /// A report on nothing.
    package init() {}

    /// Whether there are no faults, or all were repaired. Content lost in the repair is in `lost`.
    public var isSound: Bool { faultCount == repaired }

    /// Counts a fault, and lists it unless 10,000 are listed already.
    package mutating func add(_ fault: VerificationFault, isRepaired: Bool) {
        faultCount += 1
        if isRepaired { repaired += 1 }
        if faults.count < Self.maximumListedFaults { faults.append(fault) }
    }
}

extension VerificationReport: CustomStringConvertible {
    /// The counts that are not 0, on one line; with faults, a second line with the number of each kind. For logs: the
    /// text may change between versions.
    public var description: String {
        let counts = ReportText.counts([
            (checked, "files checked"), (pending, "pending"), (faultCount, "faults"), (repaired, "of them repaired"),
        ])
        let kinds = Dictionary(grouping: faults, by: \.kind).map { (count: $0.value.count, noun: $0.key.rawValue) }
            .sorted { ($1.count, $0.noun) < ($0.count, $1.noun) }
        return kinds.isEmpty ? counts : "\(counts)\nfaults: \(ReportText.counts(kinds))"
    }
}
