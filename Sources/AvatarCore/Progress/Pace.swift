#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

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
