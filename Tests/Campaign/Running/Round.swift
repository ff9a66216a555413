import Dispatch
import AvatarStoreTesting
import Workload

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The moment at which a worker is killed.
enum Kill: Hashable, CustomStringConvertible {
    /// By itself, at a file call.
    case at(KillPoint)
    /// From outside, a number of microseconds after a number of lines.
    case afterLines(Int, microseconds: Int)
    /// From outside, a number of milliseconds after its start.
    case afterStart(milliseconds: Int)

    init(_ random: inout RandomOperations) {
        switch random.number(below: 100) {
        case ..<70:
            let call = FaultyCall.draw(&random)
            let moment: KillPoint.Moment = random.chance(50) ? .before : .after
            let delay = moment == .after && random.chance(40) ? 1 + random.number(below: 2000) : 0
            self = .at(KillPoint(moment, call.call, number: 1 + random.number(below: call.reach), delay: delay))
        case ..<88:
            self = .afterLines(1 + random.number(below: 60), microseconds: random.number(below: 3000))
        default:
            self = .afterStart(milliseconds: random.number(below: 400))
        }
    }

    var description: String {
        switch self {
        case .at(let point): "at \(point)"
        case .afterLines(let lines, let microseconds): "\(microseconds) µs after line \(lines)"
        case .afterStart(let milliseconds): "\(milliseconds) ms after its start"
        }
    }
}

/// The output of one worker until it was killed.
struct Round {
    private(set) var isOpen = false
    private(set) var begun: Set<Int> = []
    private(set) var outcomes: [Int: Outcome] = [:]
    private(set) var isFinished = false
    private(set) var isClosed = false
    private(set) var looks = 0
    private(set) var findings: [Finding] = []
    private(set) var wasKilled = false

    /// Runs `script` in a worker on the store in `directory` until `kill`, at the latest until it has finished.
    ///
    /// - Parameter closes: whether it is told to close the store at the end.
    /// - Parameter budget: in force before the script.
    init(
        _ script: [Command],
        in directory: String,
        origin: String,
        _ kill: Kill,
        closes: Bool,
        budget: Int
    ) throws {
        var point: KillPoint?
        if case .at(let named) = kill { point = named }
        let worker = try Worker(directory: directory, origin: origin, killPoint: point)
        let started = DispatchTime.now()
        for command in script { try worker.tell(command.description) }
        if closes { try worker.tell("close") }
        worker.endInput()
        var watch = BudgetWatch(directory + "/caches", budget: budget, script)
        var lineCount = 0
        while !worker.isSilent {
            let lines = watch.look { worker.lines(waiting: 1) }
            lineCount += lines.count
            for line in lines { note(line) }
            let age = DispatchTime.now().uptimeNanoseconds - started.uptimeNanoseconds
            let isOver: Bool
            switch kill {
            case .at: isOver = false
            case .afterLines(let count, let microseconds):
                isOver = lineCount >= count
                if isOver { usleep(UInt32(microseconds)) }
            case .afterStart(let milliseconds): isOver = age >= UInt64(milliseconds) * 1_000_000
            }
            if age > 60_000_000_000 {
                findings.append(Finding(.wrong, "the worker did nothing for a minute"))
            }
            if isOver || isFinished || age > 60_000_000_000 { worker.kill() }
        }
        try worker.waitForEnd()
        wasKilled = worker.status == -SIGKILL
        if !wasKilled && !isClosed { findings.append(Finding(.wrong, "the worker ended with status \(worker.status)")) }
        looks = watch.looks
        findings += watch.findings
    }

    private mutating func note(_ line: Worker.Line) {
        switch line {
        case .open: isOpen = true
        case .begin(let number, _): begun.insert(number)
        case .end(let number, _, let outcome): outcomes[number] = outcome
        case .finished: isFinished = true
        case .closed: isClosed = true
        case .kept: break
        }
    }
}

/// A file call, and the number of such calls among which the last one is drawn.
private struct FaultyCall {
    let call: FaultyFileSystem.Call
    let reach: Int

    static func draw(_ random: inout RandomOperations) -> FaultyCall {
        let calls = [
            FaultyCall(call: .open, reach: 90), FaultyCall(call: .write, reach: 20),
            FaultyCall(call: .synchronize, reach: 20), FaultyCall(call: .rename, reach: 20),
            FaultyCall(call: .rename, reach: 20), FaultyCall(call: .unlink, reach: 20),
            FaultyCall(call: .unlink, reach: 20), FaultyCall(call: .makeDirectory, reach: 8),
        ]
        return calls[random.number(below: calls.count)]
    }
}
