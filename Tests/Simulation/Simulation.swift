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

    private static let names = 6
    private static let slots = 8
    private static let contacts = 6
    static let keys =
        (0..<names).map(ImageKey.own) + (0..<slots).map(ImageKey.remote) + (0..<contacts).map(ImageKey.photo)

    /// A moment at which the store may come to its end.
    private struct Moment: Sendable {
        let image: DiskImage
        let book: PromiseBook
        let call: String
        let boot: BootID
    }

    /// Runs all programs.
    ///
    /// - Returns: the number of states that were opened and checked.
    /// - Throws: `BrokenPromise`.
    func run() async throws -> Int {
        var random = RandomOperations(seed: seed, names: Self.names, slots: Self.slots, contacts: Self.contacts)
        let hasRoom = random.chance(50)
        let trouble = random.chance(50) ? Trouble.none : Trouble.allCases[random.number(below: Trouble.allCases.count)]
        var image = DiskImage()
        var book = PromiseBook()
        var states = 0
        for program in 0..<extent.programs {
            let disk = SimulatedDisk(image)
            let moments = try await perform(&random, on: disk, &book, hasRoom: hasRoom, trouble, program)
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
    private static func end(of moment: Moment, _ choice: UInt64) -> (SimulatedDisk, PromiseBook.End, String) {
        guard choice % 7 != 0 else {
            let disk = SimulatedDisk(moment.image.afterEndOfProcesses(), boot: moment.boot)
            return (disk, .process, "killed before \(moment.call)")
        }
        let model = PowerLossModel.allCases[Int(choice % 3)]
        let disk = SimulatedDisk(moment.image.afterLossOfPower(model, seed: choice))
        return (disk, .power, "\(model.rawValue) \(choice), power lost before \(moment.call)")
    }

    // MARK: The program

    /// Runs a program; the disk is copied at some of its calls.
    private func perform(
        _ random: inout RandomOperations,
        on disk: SimulatedDisk,
        _ book: inout PromiseBook,
        hasRoom: Bool,
        _ trouble: Trouble,
        _ program: Int
    ) async throws -> [Moment] {
        book.hasRoom = hasRoom
        let recorder = Recorder(book, seed: seed &+ UInt64(program), most: extent.moments)
        disk.watch { call, image in
            if TestMode.traces { print("TRACE \(program) \(call.number) \(call.name) \(call.path)") }
            recorder.note(call, image)
        }
        let faults = Faults(seed: seed &+ UInt64(program), trouble, mutation)
        disk.fail { call in
            let fault = faults.fault(at: call)
            if TestMode.traces, let fault {
                print("TRACE \(program) FAULT \(fault) \(call.number) \(call.name) \(call.path)")
            }
            return fault
        }
        let process = SimulatedProcess(on: disk)
        var tick = program * 1000
        do {
            let performer = try await Performer(process)
            if program == 0 {
                let budget = hasRoom ? 1_000_000 : random.budget()
                try await step(.setBudget(budget), tick, performer, recorder, faults)
            }
            for _ in 0..<extent.calls {
                tick += 1 + random.number(below: 20)
                let operation = random.chance(30) ? random.nextAboutContacts() : random.next()
                if hasRoom, operation.isAboutRoom { continue }
                try await step(operation, tick, performer, recorder, faults)
            }
            if random.chance(50) { try await performer.store.close() }
        } catch let error as AvatarStoreError {
            throw BrokenPromise(seed: seed, state: "program \(program)", violations: ["the program failed: \(error)"])
        }
        disk.watch(nil)
        recorder.add(disk.image, after: disk.callCount)
        disk.turnOff()
        book = recorder.book
        return recorder.moments.map { Moment(image: $0, book: $1, call: $2, boot: disk.bootID) }
    }

    private func step(
        _ operation: StoreOperation,
        _ tick: Int,
        _ performer: Performer,
        _ recorder: Recorder,
        _ faults: Faults
    ) async throws {
        if TestMode.traces { print("TRACE \(tick) \(operation)") }
        recorder.change { $0.begin(operation) }
        faults.isActive = true
        let outcome = try await performer.perform(Command(number: tick, tick: tick, operation))
        faults.isActive = false
        let found = try Self.read(performer.store)
        let isRefused = if case .refused = outcome { true } else { false }
        recorder.change { $0.end(found, isRefused: isRefused) }
    }

    /// All images as they can be read.
    private static func read(_ store: AvatarStore) throws -> [ImageKey: PromiseBook.Seen] {
        var found: [ImageKey: PromiseBook.Seen] = [:]
        for key in keys {
            guard let image = try store.storedAvatar(for: key.key(at: ScriptedOrigin.url)) else { continue }
            let storageClass = image.storageClass ?? .caches
            found[key] = PromiseBook.Seen(digest: Picture.digest(of: image.bytes), storageClass: storageClass)
        }
        return found
    }

    // MARK: The end

    /// Opens the store after its end and asks it for its promises.
    private func look(
        at disk: SimulatedDisk,
        _ moment: Moment,
        _ end: PromiseBook.End,
        _ trouble: Trouble,
        _ state: String
    ) async throws -> (image: DiskImage, book: PromiseBook) {
        func broken(_ violations: [String]) -> BrokenPromise {
            BrokenPromise(seed: seed, state: state, violations: violations)
        }
        if TestMode.traces {
            disk.watch { call, _ in print("TRACE look, \(state) \(call.number) \(call.name) \(call.path)") }
        }
        let process = SimulatedProcess(on: disk)
        var book = moment.book
        do {
            let performer = try await Performer(process)
            let store = performer.store
            let found = try Self.read(store)
            var violations = book.violations(found, after: end, mayLose: trouble == .lyingDisk)
            let report = try await store.verify()
            violations += report.faults.filter {
                // On a full disk, files that would be evicted are deleted first, as any program may delete them.
                trouble != .fullDisk || $0.kind != .missing || $0.path?.contains("/caches/") != true
            }.map { "verify: \($0.kind.rawValue) \($0.path ?? "") \($0.detail ?? "")" }
            let bytes = disk.image.byteCount(below: "/store/caches")
            if let budget = try store.value(of: .budget), bytes > budget {
                violations.append("\(bytes) bytes in caches, the budget is \(budget)")
            }
            guard violations.isEmpty else { throw broken(violations) }
            book.reopen(found)
            try await store.close()
            return (disk.image, book)
        } catch let error as AvatarStoreError {
            throw broken(["the store needs a hand: \(error)"])
        }
    }
}

extension StoreOperation {
    /// Whether the call changes how much room there is.
    fileprivate var isAboutRoom: Bool {
        switch self {
        case .trim, .setBudget: true
        default: false
        }
    }
}

/// Keeps the promises, and copies of the disk at calls that a seed chooses.
private final class Recorder: Sendable {
    private struct State {
        var book: PromiseBook
        var moments: [(DiskImage, PromiseBook, String)] = []
        var random: RandomOperations
        var seenCalls = 0
    }

    private let state: Mutex<State>
    private let most: Int

    init(_ book: PromiseBook, seed: UInt64, most: Int) {
        state = Mutex(State(book: book, random: RandomOperations(seed: seed)))
        self.most = most
    }

    var moments: [(DiskImage, PromiseBook, String)] { state.withLock { $0.moments } }

    var book: PromiseBook { state.withLock { $0.book } }

    func change(_ body: @Sendable (inout PromiseBook) -> Void) {
        state.withLock { body(&$0.book) }
    }

    /// Keeps the disk of this call with a chance that makes all calls of the program equally likely.
    func note(_ call: SimulatedDisk.Call, _ image: DiskImage) {
        state.withLock { state in
            state.seenCalls += 1
            let moment = (image, state.book, "call \(call.number), \(call.name) \(call.path)")
            if state.moments.count < most {
                state.moments.append(moment)
            } else {
                let place = state.random.number(below: state.seenCalls)
                if place < most { state.moments[place] = moment }
            }
        }
    }

    /// Keeps the disk as the program leaves it.
    func add(_ image: DiskImage, after calls: Int) {
        state.withLock { $0.moments.append((image, $0.book, "the end, call \(calls)")) }
    }
}

extension Performer {
    /// Opens the store of a simulated process, with an origin that needs no network.
    init(_ process: SimulatedProcess) async throws {
        let origin = ScriptedOrigin()
        try await self.init(
            directory: process.root + "/store",
            origin: ScriptedOrigin.url,
            process,
            bootID: process.disk.bootID,
            want: origin.want
        ) { configuration in
            configuration.originClient = origin
            if TestMode.traces { configuration.logger = Logger(label: "simulation") }
        }
    }
}
