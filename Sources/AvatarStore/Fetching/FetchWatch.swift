package import AvatarCore
import AvatarFoundation

/// The progress of the fetch of one image.
public struct FetchProgress: Hashable, Sendable {
    /// The bytes received so far, including those of an earlier, interrupted download.
    public var completedBytes: Int
    /// The size of the image in bytes; `nil` if the origin does not state it.
    public var totalBytes: Int?

    /// A progress of `completedBytes` out of `totalBytes`.
    public init(completedBytes: Int = 0, totalBytes: Int? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }
}

/// One reader's view of a fetch, even of a fetch that another reader or a sync began: the reader gets its progress, and
/// sets its own priority.
package final class FetchWatch: Sendable {
    /// Called after each chunk, with the bytes received so far. It is called on the task of the fetch, so it must
    /// return soon.
    package typealias Report = @Sendable (FetchProgress, _ arrived: any ByteSource) -> Void

    private struct State {
        var priority: FetchPriority
        /// Passes a new priority on to the fetch; `nil` while no read uses the watch.
        var change: (@Sendable (FetchPriority) -> Void)?
    }

    /// Receives the progress of the fetch.
    let report: Report
    private let state: Locked<State>

    /// A watch whose priority replaces the one in the options.
    ///
    /// - Parameters:
    ///   - priority: the priority at first.
    ///   - report: receives the progress.
    package init(priority: FetchPriority, report: @escaping Report = { _, _ in }) {
        state = Locked(State(priority: priority))
        self.report = report
    }

    /// How urgently the reader wants the image. A change takes effect at once, even for a fetch that waits for a
    /// connection.
    package var priority: FetchPriority {
        get { state.withLock { $0.priority } }
        set {
            // Called under the mutex, so that changes arrive in order. The call does not wait.
            state.withLock { state in
                state.priority = newValue
                state.change?(newValue)
            }
        }
    }

    /// Connects the watch to a read: `change` gets the present priority now, and each later one.
    func begin(_ change: @escaping @Sendable (FetchPriority) -> Void) {
        state.withLock { state in
            state.change = change
            change(state.priority)
        }
    }

    /// Disconnects the watch from its read.
    func end() {
        state.withLock { $0.change = nil }
    }
}

/// The readers that want the progress of each fetch.
final class FetchProgressTable: Sendable {
    private struct State {
        /// The last number given to a reader.
        var lastNumber = 0
        /// The readers of each fetch, by their numbers.
        var reports: [AvatarKey: [Int: FetchWatch.Report]] = [:]
    }

    private let state = Locked(State())

    /// Adds a reader of the fetch of `key`. Returns the number for `remove`.
    func add(_ report: @escaping FetchWatch.Report, for key: AvatarKey) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.reports[key, default: [:]][state.lastNumber] = report
            return state.lastNumber
        }
    }

    /// Removes the reader `number` of `key`.
    func remove(_ number: Int, for key: AvatarKey) {
        state.withLock { state in
            state.reports[key]?[number] = nil
            if state.reports[key]?.isEmpty == true { state.reports[key] = nil }
        }
    }

    /// Reports to the readers of `key` that `file` has grown.
    ///
    /// - Parameter total: the size of the image in bytes; `nil` if the origin does not state it.
    func report(_ file: any ByteSource, of total: Int?, _ key: AvatarKey) {
        let reports = state.withLock { $0.reports[key] }
        guard let reports else { return }
        let progress = FetchProgress(completedBytes: file.byteCount, totalBytes: total)
        for report in reports.values { report(progress, file) }
    }
}

/// A reader that waits for a fetch. It is registered from `init` to `deinit`.
final class FetchWatching: Sendable {
    private let end: @Sendable () -> Void

    /// Registers a reader of `key`. The priority of its watch replaces the one in `options`.
    init(_ requests: RequestQueue, _ progress: FetchProgressTable, key: AvatarKey, options: FetchOptions) {
        let wish = requests.newNumber()
        guard let watch = options.watch else {
            requests.wish(wish, for: key, options.priority)
            end = { requests.wish(wish, for: key, nil) }
            return
        }
        let number = progress.add(watch.report, for: key)
        watch.begin { requests.wish(wish, for: key, $0) }
        end = {
            watch.end()
            progress.remove(number, for: key)
            requests.wish(wish, for: key, nil)
        }
    }

    deinit {
        end()
    }
}
