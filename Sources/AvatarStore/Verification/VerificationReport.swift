public import AvatarCore

/// A place where index and files do not agree.
public struct VerificationFault: Hashable, Sendable {
    /// What is wrong. More kinds may be added.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stable spelling.
        public let rawValue: String

        /// The kind spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A file that the index lists is not there.
        public static let missing = Kind(rawValue: "missing")
        /// A file that nothing refers to.
        public static let orphan = Kind(rawValue: "orphan")
        /// A file has another length than the index says.
        public static let wrongSize = Kind(rawValue: "wrongSize")
        /// A file has another SHA-256 than the index says.
        public static let wrongDigest = Kind(rawValue: "wrongDigest")
        /// The sums of a class are not those of its files.
        public static let wrongTotal = Kind(rawValue: "wrongTotal")
        /// Two rows name the same path; this one's bytes are not there.
        public static let duplicatePath = Kind(rawValue: "duplicatePath")
        /// The index names a path that leads out of its root, by its text or through a symbolic link.
        public static let outsideRoot = Kind(rawValue: "outsideRoot")
        /// What a dead process left, and nobody could finish.
        public static let unfinished = Kind(rawValue: "unfinished")
        /// The index is not a sound database.
        public static let damagedIndex = Kind(rawValue: "damagedIndex")
    }

    /// What is wrong.
    public var kind: Kind
    /// The file or folder concerned, absolute.
    public var path: String?
    /// An entry that is concerned.
    public var key: AvatarKey?

    init(_ kind: Kind, path: String? = nil, key: AvatarKey? = nil) {
        self.kind = kind
        self.path = path
        self.key = key
    }
}

/// The content that a store lost with its index, as the files do not hold it.
public struct LostContent: Hashable, Sendable {
    /// Contacts with their links to images; `nil` if the old index cannot be read, so their number is not known.
    public var contacts: Int?
    /// Settings that were not at their defaults; `nil` if their number is not known.
    public var settings: Int?
    /// Files that were removed from `caches`.
    public var cachedImages = 0
    /// Documents that say too little of themselves to be listed again: the paths under which they are kept in the folder
    /// `set-aside`, the first 10,000 of them.
    public var documents: [String] = []
    /// How many such documents there are.
    public var documentCount = 0

    /// Whether it is known that nothing was lost.
    public var isNothing: Bool { contacts == 0 && settings == 0 && cachedImages == 0 && documentCount == 0 }

    init() {}
}

/// What a verification found.
public struct VerificationReport: Hashable, Sendable {
    /// How many faults are listed at most.
    public static let maximumListedFaults = 10_000

    /// The files of the index that were looked at.
    public var checked = 0
    /// Files that processes are publishing or removing, or were when they were killed. No fault: whoever writes next
    /// finishes what a dead process left.
    public var pending = 0
    /// The faults, the first 10,000 of them.
    public private(set) var faults: [VerificationFault] = []
    /// How many faults there are.
    public private(set) var faultCount = 0
    /// How many of them were repaired.
    public private(set) var repaired = 0

    /// The content that could not be recovered when the index was made again from the files; `nil` if it was not.
    public internal(set) var lost: LostContent?

    /// Whether nothing is wrong, or nothing any more. What a repair could not recover says `lost`.
    public var isSound: Bool { faultCount == repaired }

    mutating func add(_ fault: VerificationFault, isRepaired: Bool) {
        faultCount += 1
        if isRepaired { repaired += 1 }
        if faults.count < Self.maximumListedFaults { faults.append(fault) }
    }
}
