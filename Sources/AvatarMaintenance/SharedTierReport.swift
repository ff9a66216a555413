/// The result of a check of a shared tier.
public struct SharedTierReport: Sendable {
    /// A fault of one object.
    public struct Fault: Hashable, Sendable {
        /// The kind of a fault.
        public enum Kind: String, Hashable, Sendable, CaseIterable {
            /// A record names bytes that the tier does not have. A machine that needs them asks the origin again.
            case missingBytes
            /// Bytes that no record names, because the record was replaced, or not put yet.
            case orphanedBytes
            /// Bytes with another digest than their key says.
            case damagedBytes
            /// A record that is not as it must be.
            case damagedRecord
            /// A record that a newer one of the same URL replaces.
            case replacedRecord
            /// A claim to ask an origin that outlasted a repair's wait, so that its machine has died.
            case abandonedClaim
            /// An object of another program.
            case foreignObject
        }

        /// The kind.
        public var kind: Kind
        /// The key of the object; for missing bytes, that of the record that names them.
        public var key: String
    }

    /// The records: answers of origins.
    public internal(set) var records = 0
    /// The URLs that they are of.
    public internal(set) var urls = 0
    /// The images: objects with bytes.
    public internal(set) var images = 0
    /// The images and records that were read.
    public internal(set) var sampled = 0
    /// The tombstones of erased images that some machine has not passed yet.
    public internal(set) var tombstones = 0
    /// The claims: images that some machine is requesting, or was when it died.
    public internal(set) var claims = 0
    /// The machines that used the tier.
    public internal(set) var machines = 0
    /// The faults, the first 1,000.
    public internal(set) var faults: [Fault] = []
    /// The number of all faults.
    public internal(set) var faultCount = 0
    /// The faults that were repaired.
    public internal(set) var repaired = 0

    /// Whether all that machines read is as it must be. Replaced records and orphaned bytes only take room.
    public var isSound: Bool {
        unsoundCount == 0
    }

    /// The faults that are more than surplus, and were not repaired.
    var unsoundCount = 0

    /// The maximum number of faults in `faults`.
    private static let largestFaultCount = 1000

    /// Adds a fault.
    mutating func add(_ kind: Fault.Kind, _ key: String, isRepaired: Bool = false) {
        faultCount += 1
        if faults.count < Self.largestFaultCount { faults.append(Fault(kind: kind, key: key)) }
        if isRepaired { repaired += 1 }
        switch kind {
        case .missingBytes, .damagedBytes, .damagedRecord: unsoundCount += isRepaired ? 0 : 1
        case .orphanedBytes, .replacedRecord, .abandonedClaim, .foreignObject: break
        }
    }
}
