import AvatarStore
import Workload

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A process that works on a store until it is killed, and says what it does.
///
/// ```
/// StoreWorker DIRECTORY ORIGIN [KILLPOINT]
/// ```
///
/// Commands come from standard input, a line each. On standard output is said, in this order: `open` once the store is
/// open, `begin NUMBER TIME` before each operation, `end NUMBER TIME OUTCOME` when its call has returned, `finished`
/// when there is no command left. TIME is in nanoseconds, of a clock that all processes of the machine share. Each
/// line is one `write`: what was said before the process was killed has reached the pipe. With nothing left to do, the
/// process waits to be killed, or for the command `close`, which closes the store and ends it.
///
/// `StoreWorker DIRECTORY mirror FILE` reads the changes of the store instead, and keeps what they add up to in FILE,
/// until it is killed. It says `open`, and `kept NUMBER` when the changes up to that number are in FILE.
@main
struct StoreWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { exit(64) }
        if arguments.count == 4, arguments[2] == "mirror" { return try await mirror(arguments[1], in: arguments[3]) }
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

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        // Nobody who reads on: then nobody is left to work for.
        guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(74) }
    }
}
