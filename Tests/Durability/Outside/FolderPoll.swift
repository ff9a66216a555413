import Foundation
import ProgramRunning
import Synchronization

/// Looks at a folder again and again, from outside, while others change it. On a thread of its own, as it never waits.
final class FolderPoll: Sendable {
    struct Result {
        /// The most bytes that were seen at once.
        var most = 0
        /// How often two walks in a row found the same files, so that their sum was that of a moment.
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

    /// Looks no more. To be called once.
    func stop() async -> Result {
        isStopped.store(true, ordering: .relaxed)
        for await result in results { return result }
        return Result()
    }
}
