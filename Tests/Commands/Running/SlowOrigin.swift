import AvatarStoreTesting
import Synchronization

/// An origin with an image at every path. It does not answer requests for `/late/` until `hurry()` is called.
final class SlowOrigin: Sendable {
    let origin: LoopbackOrigin
    private let late: AsyncStream<Void>
    private let pace: Pace

    private final class Pace: Sendable {
        let isHurrying = Mutex(false)
    }

    private init(origin: LoopbackOrigin, late: AsyncStream<Void>, pace: Pace) {
        self.origin = origin
        self.late = late
        self.pace = pace
    }

    /// Starts one.
    ///
    /// - Parameter dripping: whether late images come byte by byte, which keeps a client waiting that gives up after silence.
    static func start(dripping: Bool = false) async throws -> SlowOrigin {
        let (late, arrivals) = AsyncStream.makeStream(of: Void.self)
        let pace = Pace()
        let origin = try await LoopbackOrigin.start { request in
            guard request.path.hasPrefix("/late/"), !pace.isHurrying.withLock({ $0 }) else {
                return image(request.target)
            }
            arrivals.yield()
            return dripping ? image(request.target).behaving(.drip(byteCount: 1, interval: .seconds(5))) : .hang
        }
        return SlowOrigin(origin: origin, late: late, pace: pace)
    }

    /// Waits until an image in `/late/` was requested.
    func lateRequest() async {
        for await _ in late { return }
    }

    /// Answers all requests at once from now on.
    func hurry() {
        pace.isHurrying.withLock { $0 = true }
    }
}
