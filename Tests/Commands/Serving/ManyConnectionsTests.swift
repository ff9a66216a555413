import Foundation
import ProgramRunning
import Testing

/// A thousand connections, and too few descriptors for them.
@Suite(.timeLimit(.minutes(5))) struct ManyConnectionsTests {
    /// Raises the limit on open files of this process, because each connection takes one.
    private static let hasDescriptors: Bool = {
        #if canImport(Glibc)
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let files = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0, limit.rlim_max >= 4096 else { return false }
        limit.rlim_cur = max(limit.rlim_cur, 4096)
        return setrlimit(files, &limit) == 0
    }()

    @Test(.enabled(if: hasDescriptors, "the system allows fewer than 4,096 open files"))
    func thousandIdleConnectionsDoNotDisturbOthers() async throws {
        try await ServedStore.served { server, _ in
            let active = try server.connect()
            #expect(try await active.ask("/healthz").status == 200)
            var idle: [RawConnection] = []
            for _ in 0..<999 { idle.append(try server.connect()) }
            for number in stride(from: 0, to: 999, by: 111) {
                #expect(try await idle[number].ask("/healthz").status == 200)
            }
            // Those of the thousand that have waited longest make room.
            let reply = try await server.ask("/contacts/ada/picture")

            #expect(reply.status == 200)
            #expect(try await active.readToEnd().isEmpty)
        }
    }

    @Test func serverWithFewDescriptorsSaysHowManyConnectionsItTakes() async throws {
        let workplace = try Workplace()
        let program = try await workplace.start(
            tool: "/bin/sh",
            ["-c", "ulimit -n 256; exec \"$AVATARS\" serve --listen 127.0.0.1:0"]
        )
        try await program.says("listening on ", orEnds: true)
        program.signal(SIGTERM)
        let run = try await program.end()

        #expect(run.status == 143)
        #expect(run.messages.contains("warning: The limit of 256 open files allows 8 connections at once."))
        #expect(workplace.exists("store"))
        #expect(run.messages.contains("ulimit -n 2256") && run.messages.contains("LimitNOFILE="))
    }
}
