import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The start of the program, read from its system calls.
@Suite(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, .timeLimit(.minutes(5)))
struct ProgramStartTests {
    @Test("`path` runs on the thread it was started on: another takes longer to begin than the work")
    func pathMakesNoThread() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        let program = Program.executable.path(percentEncoded: false)
        let file = workplace.path("threads")

        let run = try await workplace.start(
            tool: Strace.path,
            ["-f", "-e", "trace=clone,clone3", "-e", "signal=none", "-o", file, program, "path", "name:me"]
        ).end()

        #expect(run.status == 0)
        #expect(run.text.hasSuffix(".png\n"))
        let calls = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(calls.filter { $0.contains("clone") } == [])
    }

    @Test("a worker thread that may not raise its priority is not worth a line in the system's log")
    func prioritiesAreNotLogged() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        // The superuser may raise every priority.
        let user = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : ""
        let script = """
            [ -z "\(user)" ] || chown -R 65534 store
            exec strace -f -e trace=connect,setpriority -e signal=none -o calls \(user) nice -n 10 "$AVATARS" verify
            """

        let run = try await workplace.shell(script)

        #expect(run.status == 0, "\(run.messages)")
        let calls = String(decoding: try workplace.read("calls"), as: UTF8.self)
        #expect(calls.contains("EACCES"))
        #expect(!calls.contains("/dev/log"))
    }
}
