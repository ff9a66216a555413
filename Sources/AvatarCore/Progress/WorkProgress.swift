/// How far long work has come.
public struct WorkProgress: Hashable, Sendable {
    /// What is being done. More phases may be added.
    public struct Phase: RawRepresentable, Hashable, Sendable {
        /// What a person reads: `comparing files`.
        public let rawValue: String

        /// The phase called `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A sync fetches, revalidates and links.
        public static let syncing = Phase(rawValue: "syncing")
        /// The database itself is examined. Not counted.
        public static let checkingIndex = Phase(rawValue: "checking the index")
        /// Each row is compared with its file.
        public static let comparingFiles = Phase(rawValue: "comparing files")
        /// Files that no row names are looked for, folder by folder.
        public static let seekingOrphans = Phase(rawValue: "looking for unknown files")
        /// Files are evicted.
        public static let evicting = Phase(rawValue: "evicting")
        /// The index is copied, as it is at one moment. Counted, in bytes, before a migration only.
        public static let copyingIndex = Phase(rawValue: "copying the index")
        /// Files are linked or copied.
        public static let copyingFiles = Phase(rawValue: "copying files")
        /// What was copied is made durable. Not counted.
        public static let synchronizing = Phase(rawValue: "waiting for the disk")
        /// The schema is brought up to date, step by step.
        public static let migrating = Phase(rawValue: "migrating")
        /// Unused pages of the index are given back.
        public static let compacting = Phase(rawValue: "compacting")
        /// Images are written to a folder.
        public static let exporting = Phase(rawValue: "exporting")
        /// Pictures are taken from a folder.
        public static let importing = Phase(rawValue: "importing")
    }

    /// What is counted.
    public enum Unit: String, Sendable {
        /// Contacts of a list, or entries that are due.
        case entries
        /// Files.
        case files
        /// Folders, 256 in each root.
        case folders
        /// Bytes.
        case bytes
        /// Steps of a migration.
        case steps
    }

    /// What is being done.
    public var phase: Phase
    /// What `done` and `total` count.
    public var unit: Unit
    /// How much is done in this phase.
    public var done: Int
    /// How much there is to do in this phase; `nil`: not known.
    public var total: Int?
    /// How much of what is done failed, or was found at fault.
    public var failed: Int
    /// The bytes received or copied so far, where `unit` is something else; `nil`: not known.
    public var bytes: Int?

    /// How far `phase` has come.
    public init(
        _ phase: Phase,
        _ unit: Unit,
        done: Int = 0,
        of total: Int? = nil,
        failed: Int = 0,
        bytes: Int? = nil
    ) {
        self.phase = phase
        self.unit = unit
        self.done = done
        self.total = total
        self.failed = failed
        self.bytes = bytes
    }
}

/// Is told how far work has come: often, on any thread, and always from the same piece of work. It should return soon.
public typealias ProgressHandler = @Sendable (WorkProgress) -> Void
