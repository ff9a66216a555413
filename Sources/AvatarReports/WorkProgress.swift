#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The progress of a long operation, reported phase by phase.
public struct WorkProgress: Hashable, Sendable {
    /// A phase of an operation. Later versions may add phases.
    public struct Phase: Hashable, Sendable, CustomStringConvertible {
        /// The words for display, such as `comparing files`.
        public let description: String

        /// The phase that is displayed as `description`.
        private init(_ description: String) {
            self.description = description
        }

        /// A sync fetches, revalidates and links images.
        package static let syncing = Phase("syncing")
        /// SQLite checks the database. Not counted.
        package static let checkingIndex = Phase("checking the index")
        /// The store compares each row with its file.
        package static let comparingFiles = Phase("comparing files")
        /// The store looks for orphans, files without a row, folder by folder.
        package static let seekingOrphans = Phase("looking for unknown files")
        /// The store evicts files.
        package static let evicting = Phase("evicting")
        /// The store copies a snapshot of the index. Counted, in bytes, only before a migration.
        package static let copyingIndex = Phase("copying the index")
        /// The store hard-links or copies files.
        package static let copyingFiles = Phase("copying files")
        /// The store waits until the copies are durable on disk. Not counted.
        package static let synchronizing = Phase("waiting for the disk")
        /// The store upgrades the schema, step by step.
        package static let migrating = Phase("migrating")
        /// The store shrinks the index file by its unused pages.
        package static let compacting = Phase("compacting")
        /// The store writes images to a folder.
        package static let exporting = Phase("exporting")
        /// The store saves images from a folder.
        package static let importing = Phase("importing")
    }

    /// The unit of `done` and `total`.
    public enum Unit: String, Sendable {
        /// Contacts of a list, or entries due for a check.
        case entries
        /// Files.
        case files
        /// Folders, of which each root has 256.
        case folders
        /// Bytes.
        case bytes
        /// Steps of a migration.
        case steps
    }

    /// The current phase.
    public var phase: Phase
    /// The unit of `done` and `total`.
    public var unit: Unit
    /// The amount done in this phase.
    public var done: Int
    /// The amount to do in this phase; `nil` if unknown.
    public var total: Int?
    /// The part of `done` that failed or was found damaged.
    public var failed: Int
    /// The bytes received or copied so far, if `unit` is not `bytes`; `nil` if unknown.
    public var bytes: Int?

    /// The progress of `phase`.
    package init(
        _ phase: Phase,
        _ unit: Unit,
        done: Int = 0,
        of total: Int? = nil,
        failed: Int = 0,
        bytes: Int? = nil
    ) {
        (self.phase, self.unit, self.done, self.total) = (phase, unit, done, total)
        (self.failed, self.bytes) = (failed, bytes)
    }
}

/// Receives the progress of one operation, often and on any thread. It should return quickly.
public typealias ProgressHandler = @Sendable (WorkProgress) -> Void

/// The recent rate of counted work, and an estimate of the remaining time.
///
/// The rate is an exponential moving average: an event `memory` seconds ago counts 1/e of a new one. A slow start or a
/// burst therefore soon loses its influence, and stalled work shows a falling rate. There is no estimate for the first
/// `shortestExperience` seconds.
package struct Pace: Sendable {
    /// The time constant of the average, in seconds.
    static let memory = 10.0
    /// The time before the first estimate, in seconds.
    static let shortestExperience = 2.0
    /// The shortest time between two samples, in seconds, so that work reported in lumps is averaged.
    static let shortestStep = 0.25

    private var done = 0
    private var time: Double
    private var began: Double
    private var sum = 0.0
    private var weight = 0.0

    /// A rate for work that begins at `time`, in seconds on any monotonic clock.
    package init(at time: Double) {
        self.time = time
        began = time
    }

    /// Records that `done` items are done at `time`, in seconds on the same clock.
    package mutating func note(_ done: Int, at time: Double) {
        let step = time - self.time
        guard step >= Self.shortestStep else { return }
        let kept = exp(-step / Self.memory)
        sum = sum * kept + Double(done - self.done) / step * (1 - kept)
        // The time before the first sample must not count as a standstill.
        weight = weight * kept + (1 - kept)
        self.done = done
        self.time = time
    }

    /// Items per second; `nil` before the first estimate.
    package var perSecond: Double? {
        guard time - began >= Self.shortestExperience, weight > 0 else { return nil }
        return max(0, sum / weight)
    }

    /// The seconds until `total` items are done at the current rate; `nil` before the first estimate and at a
    /// standstill.
    package func secondsLeft(of total: Int) -> Int? {
        guard let perSecond, perSecond * 360_000 > 1 else { return nil }
        let left = max(0, total - done)
        // While items are left, the estimate is at least one second.
        return left == 0 ? 0 : max(1, Int((Double(left) / perSecond).rounded()))
    }
}
