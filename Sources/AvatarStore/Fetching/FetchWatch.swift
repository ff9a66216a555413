package import AvatarCore
import Synchronization

/// How far the fetch of an image has come.
public struct FetchProgress: Hashable, Sendable {
    /// The bytes that have arrived, those of an earlier attempt too.
    public var completedBytes: Int
    /// The bytes of the image; `nil` if the origin does not say.
    public var totalBytes: Int?

    /// So many bytes of so many.
    public init(completedBytes: Int = 0, totalBytes: Int? = nil) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }
}

/// One reader's hold on a fetch under way: it is told how far the fetch has come, whoever began it, and says how urgent
/// it is.
package final class FetchWatch: Sendable {
    /// Called after each piece, with all that has come so far. Called where the fetch runs: it must be quick.
    package typealias Report = @Sendable (FetchProgress, _ arrived: any ByteSource) -> Void

    private struct State {
        var priority: FetchPriority
        /// What carries a change to the fetch; `nil` while there is none.
        var change: (@Sendable (FetchPriority) -> Void)?
    }

    let report: Report
    private let state: Mutex<State>

    /// A watch with a priority of its own, which counts instead of that of the options.
    package init(priority: FetchPriority, report: @escaping Report = { _, _ in }) {
        state = Mutex(State(priority: priority))
        self.report = report
    }

    /// How urgently the image is wanted. A change holds at once, also for a fetch that is waiting for a connection.
    package var priority: FetchPriority {
        get { state.withLock { $0.priority } }
        set {
            // Under the mutex, so that the last change is also the last to arrive. It waits for nobody.
            state.withLock { state in
                state.priority = newValue
                state.change?(newValue)
            }
        }
    }

    func begin(_ change: @escaping @Sendable (FetchPriority) -> Void) {
        state.withLock { state in
            state.change = change
            change(state.priority)
        }
    }

    func end() {
        state.withLock { $0.change = nil }
    }
}

/// Who is to be told of the progress of which fetch.
final class FetchProgressTable: Sendable {
    private struct State {
        var lastNumber = 0
        var reports: [AvatarKey: [Int: FetchWatch.Report]] = [:]
    }

    private let state = Mutex(State())

    func add(_ report: @escaping FetchWatch.Report, for key: AvatarKey) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.reports[key, default: [:]][state.lastNumber] = report
            return state.lastNumber
        }
    }

    func remove(_ number: Int, for key: AvatarKey) {
        state.withLock { state in
            state.reports[key]?[number] = nil
            if state.reports[key]?.isEmpty == true { state.reports[key] = nil }
        }
    }

    /// Tells those who watch the fetch of `key` that `file` has grown.
    func report(_ file: any ByteSource, of total: Int?, _ key: AvatarKey) {
        let reports = state.withLock { $0.reports[key] }
        guard let reports else { return }
        let progress = FetchProgress(completedBytes: file.byteCount, totalBytes: total)
        for report in reports.values { report(progress, file) }
    }
}

extension AvatarStore {
    /// Keeps the fetch of `key` that is under way from being cancelled until the value goes away; `nil` if there is
    /// none.
    ///
    /// - Parameter isTransient: whether it is the fetch whose image is not stored.
    package func holdFetch(of key: AvatarKey, isTransient: Bool = false) -> FlightHold? {
        isTransient ? transientFlights.hold(key) : flights.hold(key)
    }

    /// How many wait for the fetch of `key`, or for the one whose image is not stored.
    package func waiterCount(of key: AvatarKey, isTransient: Bool = false) -> Int {
        isTransient ? transientFlights.waiterCount(of: key) : flights.waiterCount(of: key)
    }

    /// Makes the reader's wishes known to the fetch of `key`, until the value goes away.
    func watch(_ key: AvatarKey, _ options: FetchOptions) -> FetchWatching {
        FetchWatching(slots, progress, key, options)
    }
}

/// A reader that waits for a fetch.
final class FetchWatching: Sendable {
    private let end: @Sendable () -> Void

    init(_ slots: FetchSlots, _ progress: FetchProgressTable, _ key: AvatarKey, _ options: FetchOptions) {
        let wish = slots.newWish()
        guard let watch = options.watch else {
            slots.wish(wish, for: key, options.priority)
            end = { slots.wish(wish, for: key, nil) }
            return
        }
        let number = progress.add(watch.report, for: key)
        watch.begin { slots.wish(wish, for: key, $0) }
        end = {
            watch.end()
            progress.remove(number, for: key)
            slots.wish(wish, for: key, nil)
        }
    }

    deinit {
        end()
    }
}
