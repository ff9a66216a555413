import AvatarFiles
import AvatarFileSystem
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Logging
import ProgramRunning
import Synchronization
import Workload

/// A broken promise, with the numbers that repeat it.
struct BrokenPromise: Error, CustomStringConvertible {
    let seed: UInt64
    let state: String
    let violations: [String]
    /// The number of states of this seed that kept all promises before.
    var soundStates = 0

    var description: String { "AVATARS_SEED=\(seed), \(state):\n  " + violations.joined(separator: "\n  ") }
}

/// A program of random calls on a store that lives on a simulated disk. Its power is lost again and again.
///
/// While the program runs, the disk is copied at calls that the seed chooses. Each copy is a moment at which the power may
/// fail, or the process may be killed: a state that this leaves is opened as a new store, and asked for its promises.
/// One of those stores goes on with the program.
struct Simulation {
    /// What is simulated beside the loss of power.
    enum Trouble: CaseIterable, Sendable {
        case none
        /// Calls fail, read and write a part, or are interrupted.
        case failingCalls
        /// A synchronization fails, and later ones succeed without writing what it had lost.
        case failedSynchronization
        /// The disk reports the bytes of some images written that it has not. Documents may be lost then, and no image is
        /// ever a wrong one.
        case lyingDisk
        /// The disk fills up.
        case fullDisk
    }

    /// How far a run goes.
    struct Extent: Sendable {
        /// The number of programs, each on what the one before left.
        var programs = 3
        /// The number of calls per program.
        var calls = 14
        /// The most moments per program.
        var moments = 10
    }

    let seed: UInt64
    var extent = Extent()
    /// Tampers with the disk: a mutation that the simulation must find.
    var mutation: (@Sendable (SimulatedDisk.Call) -> SimulatedDisk.Fault?)?

    /// Runs all programs.
    ///
    /// - Returns: the number of states that were opened and checked.
    /// - Throws: `BrokenPromise`.
    func run() async throws -> Int {
        var random = RandomOperations(
            seed: seed,
            names: Program.names,
            slots: Program.slots,
            contacts: Program.contacts
        )
        let hasRoom = random.chance(50)
        let trouble = random.chance(50) ? Trouble.none : Trouble.allCases[random.number(below: Trouble.allCases.count)]
        var image = DiskImage()
        var book = PromiseBook()
        var states = 0
        for program in 0..<extent.programs {
            let disk = SimulatedDisk(image)
            let run = Program(
                seed: seed,
                number: program,
                extent: extent,
                hasRoom: hasRoom,
                trouble: trouble,
                mutation: mutation
            )
            let moments = try await run.run(on: disk, &random, &book)
            var next: (DiskImage, PromiseBook)?
            for (number, moment) in moments.enumerated() {
                let choice = seed &* 31 &+ UInt64(program * 1000 + number)
                let (after, end, state) = Self.end(of: moment, choice)
                let found: (image: DiskImage, book: PromiseBook)
                do {
                    found = try await look(at: after, moment, end, trouble, "\(trouble), program \(program), " + state)
                } catch var broken as BrokenPromise {
                    broken.soundStates = states
                    throw broken
                }
                states += 1
                if next == nil || random.chance(30) { next = (found.image, found.book) }
            }
            if let next { (image, book) = next }
        }
        return states
    }

    /// A state that the moment leaves.
    private static func end(of moment: Program.Moment, _ choice: UInt64) -> (SimulatedDisk, PromiseBook.End, String) {
        guard choice % 7 != 0 else {
            let disk = SimulatedDisk(moment.image.afterEndOfProcesses(), boot: moment.boot)
            return (disk, .process, "killed before \(moment.call)")
        }
        let model = PowerLossModel.allCases[Int(choice % 3)]
        let disk = SimulatedDisk(moment.image.afterLossOfPower(model, seed: choice))
        return (disk, .power, "\(model.rawValue) \(choice), power lost before \(moment.call)")
    }

    // MARK: The end

    /// Opens the store after its end, asks it for its promises, and closes it.
    private func look(
        at disk: SimulatedDisk,
        _ moment: Program.Moment,
        _ end: PromiseBook.End,
        _ trouble: Trouble,
        _ state: String
    ) async throws -> (image: DiskImage, book: PromiseBook) {
        if TestMode.traces {
            disk.watch { call, _ in print("TRACE look, \(state) \(call.number) \(call.name) \(call.path)") }
        }
        var book = moment.book
        var violations: [String]
        do {
            do {
                violations = try await Self.violations(of: &book, on: disk, after: end, trouble)
            } catch is AvatarStoreError where trouble == .failedSynchronization && end == .process {
                // The disk tells once what it has lost, and to the process that writes next.
                violations = try await Self.violations(of: &book, on: disk, after: end, trouble)
            }
        } catch let error as AvatarStoreError {
            violations = ["the store needs a hand: \(error)"]
        }
        guard violations.isEmpty else { throw BrokenPromise(seed: seed, state: state, violations: violations) }
        return (disk.image, book)
    }

    /// Looks at the store as another process. Without violations the book knows what it has seen.
    private static func violations(
        of book: inout PromiseBook,
        on disk: SimulatedDisk,
        after end: PromiseBook.End,
        _ trouble: Trouble
    ) async throws -> [String] {
        let process = SimulatedProcess(on: disk)
        let store = try await Performer(process).store
        let found = try Program.read(store)
        var violations = book.violations(found, after: end, mayLose: trouble == .lyingDisk)
        violations += try await store.verify().faults.filter {
            // On a full disk, files that would be evicted are deleted first, as any program may delete them.
            trouble != .fullDisk || $0.kind != .missing || $0.path?.contains("/caches/") != true
        }.map { "verify: \($0.kind.rawValue) \($0.path ?? "") \($0.detail ?? "")" }
        let bytes = disk.image.byteCount(below: "/store/caches")
        if let budget = try store.value(of: .budget), bytes > budget {
            violations.append("\(bytes) bytes in caches, the budget is \(budget)")
        }
        violations += try Program.wrongRenditions(store)
        violations += Self.strays(process)
            // A document that a lying disk damaged; or one without a row, whose label a failing disk would not store.
            .filter { ![.lyingDisk, .failingCalls].contains(trouble) || $0 != "set-aside" }
            .map { "\($0) lies beside the index" }
        if trouble != .lyingDisk, let backup = book.backup {
            violations += try await check(backup, in: process)
        }
        if violations.isEmpty { book.reopen(found) }
        try await store.close()
        return violations
    }

    /// The names in the directory of the open store that it does not need.
    static func strays(_ process: SimulatedProcess) -> [String] {
        let own: Set = ["caches", "documents", "staging", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm"]
        return (process.names(ofFolder: process.root + "/store") ?? []).filter { !own.contains($0) }
    }

    /// The differences between the finished backup of `process` and what it was made of. It is a store, and opened as one.
    private static func check(_ expected: [ImageKey: PromiseBook.Seen], in process: SimulatedProcess) async throws
        -> [String]
    {
        let backup = try await AvatarStore.open(
            .init(directory: process.root + Program.backup),
            fileSystem: process,
            bootID: process.disk.bootID
        )
        let found = try Program.read(backup)
        let faults = try await backup.verify().faults
        try await backup.close()
        return Set(expected.keys).union(found.keys).filter { expected[$0] != found[$0] }
            .map {
                "backup: \($0) is \(found[$0].map { "\($0)" } ?? "gone"), was \(expected[$0].map { "\($0)" } ?? "nothing")"
            }
            + faults.map { "backup: \($0.kind.rawValue) \($0.path ?? "")" }
    }
}
