/// What the store throws: a code to branch on, and a sentence that names the thing and the limit that was hit.
///
/// No message holds a URL's user info, query or fragment.
public struct AvatarStoreError: Error, Sendable, CustomStringConvertible {
    /// What went wrong. More codes may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The stable spelling.
        public let rawValue: String

        /// The code spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The stable spelling.
        public var description: String { rawValue }

        /// A URL that cannot be a key: not http or https, with user info, relative, or not a URL.
        public static let unsupportedURL = Code(rawValue: "unsupportedURL")
        /// A name or a caller's own key that is empty, too long, or holds NUL.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// A setting or option outside its limits.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// The image could not be fetched; `failure` says why.
        public static let fetchFailed = Code(rawValue: "fetchFailed")
        /// The bytes given are not an image that the store takes; `failure` says why.
        public static let imageRefused = Code(rawValue: "imageRefused")
        /// There is no such entry.
        public static let noSuchEntry = Code(rawValue: "noSuchEntry")
        /// The image is larger than the budget, or than the room that may be made.
        public static let overBudget = Code(rawValue: "overBudget")
        /// A root is a symbolic link, a file, on a network, or belongs to another store.
        public static let unusableRoot = Code(rawValue: "unusableRoot")
        /// There is no store at this place, and the caller may not make one.
        public static let noStore = Code(rawValue: "noStore")
        /// The database belongs to another program.
        public static let foreignIndex = Code(rawValue: "foreignIndex")
        /// The index was written by a newer version of this program.
        public static let newerIndex = Code(rawValue: "newerIndex")
        /// The index has an older schema, and it was opened for reading only.
        public static let olderIndex = Code(rawValue: "olderIndex")
        /// Another program upgraded the index while it was open here.
        public static let indexWasUpgraded = Code(rawValue: "indexWasUpgraded")
        /// The index was moved, replaced or removed while it was open here.
        public static let indexWasReplaced = Code(rawValue: "indexWasReplaced")
        /// The index is not a sound database.
        public static let damagedIndex = Code(rawValue: "damagedIndex")
        /// Another process held the index for longer than the wait limit.
        public static let busy = Code(rawValue: "busy")
        /// Another sync is running on this store.
        public static let syncIsRunning = Code(rawValue: "syncIsRunning")
        /// The store was opened for reading only.
        public static let readOnly = Code(rawValue: "readOnly")
        /// There is something already where a backup or a restored store was to go.
        public static let notEmpty = Code(rawValue: "notEmpty")
        /// Whoever reads the changes is too far behind, or read another feed: they have to look at everything once.
        public static let startOver = Code(rawValue: "startOver")
        /// The disk is full.
        public static let diskFull = Code(rawValue: "diskFull")
        /// A file or database call failed for another reason.
        public static let storage = Code(rawValue: "storage")
        /// A contact list cannot be read.
        public static let unreadableList = Code(rawValue: "unreadableList")
    }

    /// What went wrong.
    public var code: Code
    /// A full sentence for a person.
    public var message: String
    /// Why an image could not be had, where that is what went wrong.
    public var failure: FailureKind?
    /// The error of the layer below, if there was one.
    public var underlying: (any Error)?

    /// An error `code` that says `message`.
    public init(_ code: Code, _ message: String, failure: FailureKind? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.failure = failure
        self.underlying = underlying
    }

    /// The message.
    public var description: String { message }
}
