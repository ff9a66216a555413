import Foundation
import ProgramRunning
import Synchronization

/// Polls a folder from outside while other processes change it. It has a thread of its own, because it never waits.
final class FolderPoll: Sendable {
    struct Result {
        /// The most bytes that were seen at once.
        var most = 0
        /// How often two walks in a row found the same files, so that their sum is that of one moment.
        var sums = 0
    }

    private let isStopped = Atomic(false)
    private let results: AsyncStream<Result>

    init(_ root: String) {
        let (results, ended) = AsyncStream.makeStream(of: Result.self)
        self.results = results
        Thread.detachNewThread { [weak self] in
            var result = Result()
            while self?.isStopped.load(ordering: .relaxed) == false {
                if let walk = FolderWalk(agreed: root) {
                    result.most = max(result.most, walk.bytes)
                    result.sums += 1
                }
                usleep(200)
            }
            ended.yield(result)
            ended.finish()
        }
    }

    /// Stops polling. Call it once.
    func stop() async -> Result {
        isStopped.store(true, ordering: .relaxed)
        for await result in results { return result }
        return Result()
    }
}
