/// The error that the store throws: a code to branch on, and a message for a person.
///
/// The message names the value and the limit or rule that it broke. It never contains the user info, query or fragment
/// of a URL.
public struct AvatarStoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Later versions may add codes, so a `switch` needs a default.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The spelling of the code, the same in all versions.
        public let rawValue: String

        /// The code spelled `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The same as `rawValue`.
        public var description: String { rawValue }

        /// The URL is not http or https, is relative, contains user info, or is not a URL.
        public static let unsupportedURL = Code(rawValue: "unsupportedURL")
        /// A name, a contact id or a custom key is empty, too long, or contains a character that keys must not contain.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// A setting or an option is outside its limits.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// The store could not fetch the image; `failure` is the reason.
        public static let fetchFailed = Code(rawValue: "fetchFailed")
        /// The bytes passed in are not an image that the store accepts; `failure` is the reason.
        public static let imageRefused = Code(rawValue: "imageRefused")
        /// The store has no entry with this key.
        public static let noSuchEntry = Code(rawValue: "noSuchEntry")
        /// The image is larger than the byte budget, or than the space that evictions can free.
        public static let overBudget = Code(rawValue: "overBudget")
        /// A root folder is a symbolic link or a file, lies on a network file system, or belongs to another store.
        public static let unusableRoot = Code(rawValue: "unusableRoot")
        /// The directory has no store, and this call does not create one.
        public static let noStore = Code(rawValue: "noStore")
        /// The database file belongs to another program.
        public static let foreignIndex = Code(rawValue: "foreignIndex")
        /// The index was written by a newer version of this program.
        public static let newerIndex = Code(rawValue: "newerIndex")
        /// The index has an older schema, and cannot be upgraded because it was opened for reading only.
        public static let olderIndex = Code(rawValue: "olderIndex")
        /// Another process upgraded the index while this one had it open.
        public static let indexWasUpgraded = Code(rawValue: "indexWasUpgraded")
        /// The index file was moved, replaced or deleted while this process had it open.
        public static let indexWasReplaced = Code(rawValue: "indexWasReplaced")
        /// The index is corrupt, or not an SQLite database.
        public static let damagedIndex = Code(rawValue: "damagedIndex")
        /// Another process locked the index for longer than the wait limit.
        public static let busy = Code(rawValue: "busy")
        /// Another sync is running on this store.
        public static let syncIsRunning = Code(rawValue: "syncIsRunning")
        /// The call writes, and the store was opened for reading only.
        public static let readOnly = Code(rawValue: "readOnly")
        /// Something already exists at the target of a backup or a restore.
        public static let notEmpty = Code(rawValue: "notEmpty")
        /// The sequence number is too old for the change feed, or from another store: the reader must list everything
        /// once.
        public static let startOver = Code(rawValue: "startOver")
        /// The disk is full.
        public static let diskFull = Code(rawValue: "diskFull")
        /// A call to the file system or to SQLite failed for another reason.
        public static let storage = Code(rawValue: "storage")
        /// The contact list cannot be read.
        public static let unreadableList = Code(rawValue: "unreadableList")
    }

    /// The kind of the error.
    public var code: Code
    /// The text for a person: the failure, its reason and often a remedy, in full sentences.
    public var message: String
    /// The failure of the image, for `fetchFailed`, `imageRefused` and other errors about one image; else `nil`.
    public var failure: FailureKind?
    /// The error of the system, SQLite or another library that caused this one, if any.
    public var underlying: (any Error)?

    /// An error with `code` and `message`.
    package init(_ code: Code, _ message: String, failure: FailureKind? = nil, underlying: (any Error)? = nil) {
        (self.code, self.message, self.failure, self.underlying) = (code, message, failure, underlying)
    }

    /// The same as `message`.
    public var description: String { message }
}
