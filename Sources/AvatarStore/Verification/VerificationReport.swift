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

    /// Whether nothing is wrong, or nothing any more.
    public var isSound: Bool { faultCount == repaired }

    mutating func add(_ fault: VerificationFault, isRepaired: Bool) {
        faultCount += 1
        if isRepaired { repaired += 1 }
        if faults.count < Self.maximumListedFaults { faults.append(fault) }
    }
}
