import AvatarFiles
import AvatarFoundation
import AvatarIndex

/// The other processes that have the store open, as far as the log of the index is concerned: they learn of each other by the
/// lock files of their holders.
final class OtherProcesses: LogPeers {
    /// The holder of this process.
    private let holder: Holder
    /// The holders that had died when this was asked last.
    private let dead = Locked<Set<String>>([])

    init(beside holder: Holder) {
        self.holder = holder
    }

    func learnOfLoss() throws -> Bool {
        let others = try holder.others()
        return dead.withLock { dead in
            let known = dead
            dead = Set(others.lazy.filter { !$0.isAlive }.map(\.name))
            // One that has died may have been told of a failure, and had no time to say so. The log is written again for each once.
            return !dead.isSubset(of: known) || others.contains { $0.isAlive && $0.doubts.contains(.log) }
        }
    }

    func setDoubt(_ isDoubtful: Bool) {
        holder.set(.log, to: isDoubtful)
    }
}
