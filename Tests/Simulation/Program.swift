import AvatarFiles
import AvatarFileSystem
import AvatarFoundation
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Logging
import ProgramRunning
import Workload

/// A program of random calls on the store of a simulated disk, by one process or by two, of which one may be killed.
struct Program {
    let seed: UInt64
    /// Its number within the simulation.
    let number: Int
    let extent: Simulation.Extent
    /// Whether no image is evicted.
    let hasRoom: Bool
    let trouble: Simulation.Trouble
    let mutation: (@Sendable (SimulatedDisk.Call) -> SimulatedDisk.Fault?)?

    static let names = 6
    static let slots = 8
    static let contacts = 6
    private static let keys =
        (0..<names).map(ImageKey.own) + (0..<slots).map(ImageKey.remote) + (0..<contacts).map(ImageKey.photo)
    private static let rendition = Rendition(size: 64, format: .png, fit: .square)
    /// The directory of the only backup, on the disk.
    static let backup = "/backup"

    /// A moment at which the store may come to its end.
    struct Moment: Sendable {
        let image: DiskImage
        let book: PromiseBook
        let call: String
        let boot: BootID
    }

    /// A process of the program, with the store open.
    private struct Member {
        let process: SimulatedProcess
        let performer: Performer
        var store: AvatarStore { performer.store }
    }

    /// The calls that are prepared: what goes wrong in them, and who takes note.
    private struct Stage {
        let disk: SimulatedDisk
        let recorder: Recorder
        let faults: Faults
        var tick: Int
        var members: [Member] = []
    }

    /// Runs the program on `disk`.
    ///
    /// - Returns: copies of the disk at some of its calls, and as the program leaves it.
    /// - Throws: `BrokenPromise`.
    func run(
        on disk: SimulatedDisk,
        _ random: inout RandomOperations,
        _ book: inout PromiseBook
    ) async throws -> [Moment] {
        book.hasRoom = hasRoom && trouble != .fullDisk
        book.isDiskFull = trouble == .fullDisk
        let lane = seed &+ UInt64(number)
        let recorder = Recorder(book, seed: lane, most: extent.moments)
        let faults = Faults(seed: lane, trouble, mutation)
        disk.watch { call, image in
            if TestMode.traces { print("TRACE \(number) \(call.number) \(call.name) \(call.path)") }
            recorder.note(call, image)
        }
        disk.fail { call in
            let fault = faults.fault(at: call)
            if TestMode.traces, let fault {
                print("TRACE \(number) FAULT \(fault) \(call.number) \(call.name) \(call.path)")
            }
            return fault
        }
        var stage = Stage(disk: disk, recorder: recorder, faults: faults, tick: number * 1000)
        do {
            for _ in 0..<(random.chance(30) ? 2 : 1) {
                let process = SimulatedProcess(on: disk)
                stage.members.append(try await open(process))
            }
            if number == 0 {
                let budget = hasRoom ? 1_000_000 : random.budget()
                try await perform(.setBudget(budget), &stage, &random)
            }
            for _ in 0..<extent.calls {
                stage.tick += 1 + random.number(below: 20)
                try await step(&stage, &random)
            }
            if random.chance(50) { for member in stage.members { try await close(member) } }
        } catch let error as AvatarStoreError {
            throw BrokenPromise(seed: seed, state: "program \(number)", violations: ["the program failed: \(error)"])
        }
        disk.watch(nil)
        recorder.add(disk.image, after: disk.callCount)
        disk.turnOff()
        book = recorder.book
        return recorder.moments.map { Moment(image: $0, book: $1, call: $2, boot: disk.bootID) }
    }

    // MARK: Calls

    /// Makes the next call.
    private func step(_ stage: inout Stage, _ random: inout RandomOperations) async throws {
        switch random.number(below: 100) {
        case ..<3: try await backUp(&stage, &random)
        case ..<6: try await ignore(&stage, &random)
        case ..<9: try await reopen(&stage, &random)
        case ..<17: try await makeRendition(&stage, &random)
        default:
            let operation = random.chance(30) ? random.nextAboutContacts() : random.next()
            if hasRoom, operation.isAboutRoom { return }
            try await perform(operation, &stage, &random)
        }
    }

    private func perform(_ operation: StoreOperation, _ stage: inout Stage, _ random: inout RandomOperations)
        async throws
    {
        let command = Command(number: stage.tick, tick: stage.tick, operation)
        try await call("\(operation)", &stage, &random) {
            $0.begin(operation)
        } body: { member in
            if case .refused = try await member.performer.perform(command) { return false }
            return true
        }
    }

    /// Makes the backup, if there is none yet.
    private func backUp(_ stage: inout Stage, _ random: inout RandomOperations) async throws {
        guard stage.recorder.book.backup == nil else { return }
        let isDone = try await call("backup", &stage, &random) { _ in
        } body: { member in
            _ = try await member.store.backup(to: member.process.root + Self.backup, fileSystem: member.process)
            return true
        }
        if isDone { stage.recorder.change { $0.endBackup() } }
    }

    /// Closes the store in one of the processes, beside the other one, and opens it again.
    private func reopen(_ stage: inout Stage, _ random: inout RandomOperations) async throws {
        let place = random.number(below: stage.members.count)
        let process = stage.members[place].process
        if TestMode.traces { print("TRACE \(stage.tick) \(place) reopen") }
        try await close(stage.members[place])
        stage.members[place] = try await open(process)
    }

    /// The disk may tell only now what it has lost, and tells it once.
    private func open(_ process: SimulatedProcess) async throws -> Member {
        do {
            return Member(process: process, performer: try await Performer(process))
        } catch is AvatarStoreError where trouble == .failedSynchronization {
            return Member(process: process, performer: try await Performer(process))
        }
    }

    private func close(_ member: Member) async throws {
        do {
            try await member.store.close()
        } catch is AvatarStoreError where trouble == .failedSynchronization {
            // As above.
        }
    }

    /// Ignores an image that is stored now, or no longer ignores one.
    private func ignore(_ stage: inout Stage, _ random: inout RandomOperations) async throws {
        let isEnd = random.chance(30)
        let seen = Set(stage.recorder.book.seen.filter { !$0.key.isOwn }.values.map(\.digest)).sorted()
        guard !seen.isEmpty else { return }
        let digest = seen[random.number(below: seen.count)]
        try await call("ignore \(digest)", &stage, &random) {
            if !isEnd { $0.beginIgnoring(digest) }
        } body: { member in
            if isEnd {
                _ = try await member.store.unignore(digests: member.store.ignoredImages().prefix(1).map(\.digest))
            } else {
                try await member.store.ignore(digests: [digest])
            }
            return true
        }
    }

    private func makeRendition(_ stage: inout Stage, _ random: inout RandomOperations) async throws {
        let key = Self.keys[random.number(below: Self.keys.count)]
        let options = FetchOptions(policy: .offline, rendition: Self.rendition)
        try await call("rendition of \(key)", &stage, &random) { _ in
        } body: { member in
            _ = try await member.store.avatar(for: key.key(at: ScriptedOrigin.url), options: options)
            return true
        }
    }

    /// Makes a call by one of the processes, and then reads all images. If there are two, the one that calls may be killed meanwhile.
    ///
    /// - Parameters:
    ///   - begin: tells the book of the call.
    ///   - body: makes it, and returns whether it was done. An error of the store means that it was not.
    /// - Returns: whether it was done.
    @discardableResult
    private func call(
        _ name: String,
        _ stage: inout Stage,
        _ random: inout RandomOperations,
        begin: @Sendable (inout PromiseBook) -> Void,
        body: (Member) async throws -> Bool
    ) async throws -> Bool {
        let caller = random.number(below: stage.members.count)
        let member = stage.members[caller]
        if TestMode.traces { print("TRACE \(stage.tick) \(caller) \(name)") }
        stage.recorder.change(begin)
        stage.faults.begin(killingAfter: stage.members.count > 1 && random.chance(15) ? random.number(below: 200) : nil)
        var isDone = false
        do {
            isDone = try await body(member)
        } catch is AvatarStoreError {
            // The book then expects either outcome.
        }
        stage.faults.end()
        let count = stage.members.count
        stage.members.removeAll { !$0.process.isAlive }
        let isKilled = stage.members.count < count
        let found = try Self.read(stage.members[0].store)
        if isKilled {
            let violations = stage.recorder.book.violations(found, after: .process, mayLose: false)
            guard violations.isEmpty else {
                let state = "\(trouble), program \(number), one of two processes killed in \(name)"
                throw BrokenPromise(seed: seed, state: state, violations: violations)
            }
        }
        let isUndecided = !isDone || isKilled
        if TestMode.traces {
            let keys = found.keys.map(\.description).sorted().joined(separator: " ")
            print("TRACE \(stage.tick) \(caller) \(isUndecided ? "failed" : "done"), images \(keys)")
        }
        stage.recorder.change { $0.end(found, isUndecided: isUndecided, isOfDead: isKilled) }
        return isDone && !isKilled
    }

    // MARK: Looking

    /// All images as they can be read.
    static func read(_ store: AvatarStore) throws -> [ImageKey: PromiseBook.Seen] {
        var found: [ImageKey: PromiseBook.Seen] = [:]
        for key in keys {
            guard let image = try store.storedAvatar(for: key.key(at: ScriptedOrigin.url)) else { continue }
            let storageClass = image.storageClass ?? .caches
            found[key] = PromiseBook.Seen(digest: Image.digest(of: image.bytes), storageClass: storageClass)
        }
        return found
    }

    /// The stored renditions that are not of the stored image.
    static func wrongRenditions(_ store: AvatarStore) throws -> [String] {
        try keys.compactMap { key in
            let address = try key.key(at: ScriptedOrigin.url)
            guard let stored = try store.storedAvatar(for: address, as: rendition), let made = stored.rendition,
                let original = try store.storedAvatar(for: address)
            else { return nil }
            return stored.bytes == DigestMaker.bytes(made, of: original.bytes)
                ? nil : "\(key) has a rendition of another image"
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

    private let state: Locked<State>
    private let most: Int

    init(_ book: PromiseBook, seed: UInt64, most: Int) {
        state = Locked(State(book: book, random: RandomOperations(seed: seed)))
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
            configuration.renditions = DigestMaker(process)
            if TestMode.traces { configuration.logger = Logger(label: "simulation") }
        }
    }
}
