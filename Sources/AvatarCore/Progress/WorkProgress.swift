#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

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

/// How fast counted work goes on lately, and how long the rest of it takes at that pace.
///
/// A moving average that forgets: what happened a memory ago counts a third of what happens now. So a slow beginning or a
/// burst is not believed for long, and work that stands still says so. For the first seconds it says nothing.
package struct Pace: Sendable {
    /// How long ago counts 1/e of now, in seconds.
    static let memory = 10.0
    /// Less than this says nothing about the rest, in seconds.
    static let shortestExperience = 2.0
    /// Work that is reported in lumps is averaged over this at least, in seconds.
    static let shortestStep = 0.25

    private var done = 0
    private var time: Double
    private var began: Double
    private var sum = 0.0
    private var weight = 0.0

    /// - Parameter time: in seconds, on any clock that does not go back.
    package init(at time: Double) {
        self.time = time
        began = time
    }

    /// Takes note that `done` are done at `time`.
    package mutating func note(_ done: Int, at time: Double) {
        let step = time - self.time
        guard step >= Self.shortestStep else { return }
        let kept = exp(-step / Self.memory)
        sum = sum * kept + Double(done - self.done) / step * (1 - kept)
        // What was not seen yet counts for nothing, rather than as standstill.
        weight = weight * kept + (1 - kept)
        self.done = done
        self.time = time
    }

    /// So many a second; `nil` as long as nothing can be said.
    package var perSecond: Double? {
        guard time - began >= Self.shortestExperience, weight > 0 else { return nil }
        return max(0, sum / weight)
    }

    /// How long the rest takes, if it goes on like this; `nil` as long as nothing can be said, and at a standstill.
    package func secondsLeft(of total: Int) -> Int? {
        guard let perSecond, perSecond * 360_000 > 1 else { return nil }
        let left = max(0, total - done)
        // As long as something is left, so is some time.
        return left == 0 ? 0 : max(1, Int((Double(left) / perSecond).rounded()))
    }
}
