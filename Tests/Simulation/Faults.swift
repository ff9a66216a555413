import AvatarFoundation
import AvatarStoreTesting
import Synchronization
import Workload

/// Chooses the calls that go wrong, by a seed.
final class Faults: Sendable {
    private let random: Locked<RandomOperations>
    private let trouble: Simulation.Trouble
    private let mutation: (@Sendable (SimulatedDisk.Call) -> SimulatedDisk.Fault?)?
    private let active = Atomic(false)
    /// The number of calls until the process that makes the next one is killed; negative if none is.
    private let callsUntilKill = Atomic(-1)

    init(
        seed: UInt64,
        _ trouble: Simulation.Trouble,
        _ mutation: (@Sendable (SimulatedDisk.Call) -> SimulatedDisk.Fault?)?
    ) {
        random = Locked(RandomOperations(seed: seed ^ 0x5EED))
        (self.trouble, self.mutation) = (trouble, mutation)
    }

    /// From now on calls go wrong. A mutation of the disk is always in force.
    ///
    /// - Parameter calls: the number of calls after which the process that makes the next one is killed; `nil`: none is.
    func begin(killingAfter calls: Int?) {
        callsUntilKill.store(calls ?? -1, ordering: .relaxed)
        active.store(true, ordering: .relaxed)
    }

    /// No call goes wrong any more.
    func end() {
        active.store(false, ordering: .relaxed)
    }

    func fault(at call: SimulatedDisk.Call) -> SimulatedDisk.Fault? {
        if let fault = mutation?(call) { return fault }
        guard active.load(ordering: .relaxed) else { return nil }
        if callsUntilKill.load(ordering: .relaxed) >= 0, callsUntilKill.subtract(1, ordering: .relaxed).oldValue == 0 {
            return .kills
        }
        return random.withLock { random in
            switch trouble {
            case .none: nil
            case .failingCalls: random.number(below: 60) == 0 ? Self.failure(of: call, &random) : nil
            case .failedSynchronization:
                switch call.name {
                // A published file is synchronized only if another image is to share it, and again if that fails.
                case "fsync":
                    random.chance(call.path.hasSuffix(".png") ? 40 : 8) ? Self.lostBytes(of: call, &random) : nil
                case "syncfs": random.chance(2) ? .fails(EIO) : nil
                default: nil
                }
            case .lyingDisk: Self.isImage(call) && random.chance(30) ? .lies : nil
            case .fullDisk: Self.needsRoom.contains(call.name) && random.chance(15) ? .fails(ENOSPC) : nil
            }
        }
    }

    /// Whether the call makes the bytes of an image durable.
    private static func isImage(_ call: SimulatedDisk.Call) -> Bool {
        guard call.name == "fsync" else { return false }
        return call.path.hasSuffix(".png") || call.path.hasPrefix("documents-") || call.path.hasPrefix("caches-")
    }

    /// The system may drop the bytes of a staged file at once. Those of a published one it keeps for now: they would be missing
    /// without a loss of power.
    private static func lostBytes(
        of call: SimulatedDisk.Call,
        _ random: inout RandomOperations
    ) -> SimulatedDisk.Fault {
        isImage(call) && !call.path.hasSuffix(".png") && random.chance(50) ? .drops : .fails(EIO)
    }

    private static let needsRoom: Set = ["write", "mkdir", "link", "rename"]

    private static func failure(of call: SimulatedDisk.Call, _ random: inout RandomOperations) -> SimulatedDisk.Fault? {
        switch call.name {
        case "close", "unlock", "fsync", "syncfs": nil
        case "read", "write": [.fails(EIO), .fails(EINTR), .isShort][random.number(below: 3)]
        default: .fails(EIO)
        }
    }
}
