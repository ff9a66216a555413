import AvatarFileSystem
import AvatarStore
import Workload

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A process that works on a store until it is killed, and reports each step.
///
/// ```
/// StoreWorker DIRECTORY ORIGIN [KILLPOINT]
/// ```
///
/// It reads commands from standard input, one per line, and writes to standard output, in this order: `open` once the
/// store is open, `begin NUMBER TIME` before each operation, `end NUMBER TIME OUTCOME` when its call has returned,
/// `finished` when no command is left. TIME is in nanoseconds, of a clock that all processes of the machine share. Each
/// line is one `write`, so that a line written before a kill has reached the pipe. With nothing left to do, the process
/// waits to be killed, or for the command `close`, which closes the store and ends it.
///
/// `StoreWorker DIRECTORY mirror FILE` reads the store's change feed instead, and keeps the resulting state in FILE,
/// until it is killed. It writes `open`, and `kept NUMBER` once the events up to that number are in FILE.
///
/// `StoreWorker DIRECTORY renditions SEED [KILLPOINT]` makes renditions until it is killed. It writes `open`.
@main
struct StoreWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { exit(64) }
        if arguments.count == 4, arguments[2] == "mirror" { return try await mirror(arguments[1], in: arguments[3]) }
        if arguments[2] == "renditions", arguments.count >= 4 { return try await makeRenditions(arguments) }
        let point = arguments.count > 3 ? KillPoint(arguments[3]) : nil
        let performer = try await Performer(
            directory: arguments[1],
            origin: arguments[2],
            fileSystem: KillingFileSystem(point)
        )
        say("open")
        while let line = readLine() {
            if line == "close" {
                try await performer.store.close()
                say("closed")
                return
            }
            guard let command = Command(line) else { exit(65) }
            say("begin \(command.number) \(now())")
            let outcome = try await performer.perform(command)
            say("end \(command.number) \(now()) \(outcome)")
        }
        say("finished")
        while true { pause() }
    }

    private static func mirror(_ directory: String, in file: String) async throws {
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.access = .readOnly
        let store = try await AvatarStore.open(configuration)
        say("open")
        while true {
            var mirror = try ChangeMirror(file: file)
            for change in try store.changes(since: mirror.sequence, limit: 20) { mirror.apply(change) }
            try mirror.keep(in: file)
            say("kept \(mirror.sequence)")
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private static func makeRenditions(_ arguments: [String]) async throws {
        let point = arguments.count > 4 ? KillPoint(arguments[4]) : nil
        let load = try await RenditionLoad(arguments[1], fileSystem: KillingFileSystem(point))
        var random = RandomOperations(seed: UInt64(arguments[3]) ?? 0)
        say("open")
        while true {
            do {
                try await load.step(&random)
            } catch is AvatarStoreError {
                // The store refused it, such as a save without room.
            }
        }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        // The reader has closed the pipe, so there is no more work to do.
        guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(74) }
    }
}
