import AvatarFiles
import AvatarFoundation
import AvatarIndex

/// The other processes that have the store open, as far as the log of the index is concerned: they learn of each other by the
/// lock files of their holders.
final class OtherProcesses: LogPeers {
    /// The holder of this process.
    private let holder: Holder
    /// The holders as they were when this was asked last.
    private struct Known {
        var isAlone = true
        var dead: Set<String> = []
    }

    private let known = Locked(Known())

    init(beside holder: Holder) {
        self.holder = holder
    }

    func learnOfLoss() throws -> Bool {
        let others = try holder.others()
        return known.withLock { known in
            let before = known.dead
            known.isAlone = others.isEmpty
            known.dead = Set(others.lazy.filter { !$0.isAlive }.map(\.name))
            // One that has died may have been told of a failure, and had no time to say so. The log is written again for each once.
            return !known.dead.isSubset(of: before) || others.contains { $0.isAlive && $0.doubts.contains(.log) }
        }
    }

    func learnOfLateLoss() throws -> Bool {
        // One that has come since has synchronized nothing before the commit.
        guard known.withLock({ !$0.isAlone }) else { return false }
        return try learnOfLoss()
    }

    func setDoubt(_ isDoubtful: Bool) {
        holder.set(.log, to: isDoubtful)
    }
}
