import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// Signals that come while the program still starts.
@Suite(.timeLimit(.minutes(5)))
struct EarlySignalTests {
    /// Dispatch makes its descriptors for signals and reads on a thread of its own. Here that thread is slow, as on a busy
    /// machine, and the signal comes first.
    @Test(
        .enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable },
        .timeLimit(.minutes(5)),
        arguments: [("INT", 130), ("TERM", 143)]
    )
    func isKeptUntilTheProgramReadsIt(signal: String, status: Int) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        // Nothing reads from the pipe, so only the signal ends the program.
        let script = """
            mkfifo pipe
            strace -f -qq -o /dev/null -e trace=signalfd4,epoll_ctl \\
                -e inject=signalfd4,epoll_ctl:delay_enter=1000000 \\
                "$AVATARS" get name:me --output pipe --verbose 2>messages & traced=$!
            until grep -q "opening the store" messages; do sleep 0.02; done
            kill -\(signal) $(cat /proc/$traced/task/$traced/children)
            wait $traced
            echo $?
            """

        let run = try await workplace.shell(script)

        #expect(run.text == "\(status)\n", "\(run.messages)")
    }
}
