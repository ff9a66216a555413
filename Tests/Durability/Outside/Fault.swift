import ProgramRunning

/// A kind of system call, one of which is made to fail.
enum FaultyCall: String, CaseIterable {
    case openat
    case pwritev
    case pwrite64
    case ftruncate
    case mkdirat
    case fsync
    case fdatasync
    case syncfs
    case renameat
    case unlinkat

    /// The calls that publish and delete.
    static let fewest: [FaultyCall] = [.fsync, .renameat, .unlinkat]

    /// The failures of a thread's call number `number`: each kind, or one of them in turn where there are many calls.
    func faults(_ number: Int) -> [Fault] {
        let all = Fault.Failure.allCases.map { Fault(call: self, error: $0, number: number) }
        switch self {
        case .openat, .pwritev, .pwrite64, .ftruncate: return [all[number % all.count]]
        default: return TestMode.isThorough ? all : [all[number % all.count]]
        }
    }
}

/// A system call that fails: the call of that name with that number in each thread.
struct Fault: CustomStringConvertible {
    let call: FaultyCall
    let error: Failure
    let number: Int

    enum Failure: String, CaseIterable {
        case noSpace = "ENOSPC"
        case inputOutput = "EIO"
        case noAccess = "EACCES"
    }

    /// The fault in the syntax of `strace`.
    var description: String { "\(call):error=\(error.rawValue):when=\(number)" }

    /// The messages of the system or the database for the fault; the program shows one of them.
    var reasons: [String] {
        let database = [
            "disk I/O error", "database or disk is full", "unable to open database file", "readonly database",
        ]
        switch error {
        case .noSpace: return ["No space left on device", "is full: "] + database
        case .inputOutput: return ["Input/output error"] + database
        case .noAccess: return ["Permission denied"] + database
        }
    }
}
