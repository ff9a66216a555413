import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// What `avatars serve` reads while it runs: its token and its lists.
@Suite(.timeLimit(.minutes(5))) struct ServeReloadTests {
    private func writeToken(_ token: String, in workplace: Workplace) throws {
        try workplace.write("token", token + "\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workplace.path("token"))
    }

    private func bearer(_ token: String) -> [String] { ["Authorization: Bearer \(token)"] }

    @Test func hangupReadsTheTokenAndTheListsAgain() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.json", ServedStore.people(origin))
            try writeToken("the-first-token-of-all", in: workplace)
            let options = [
                "--sync", "people.json", "--every", "1h", "--allow-private-network", "--token-file", "token",
            ]
            let run = try await RunningServer.with(options, in: workplace) { server in
                try await server.program.says("sync complete: ")
                let first = bearer("the-first-token-of-all")
                #expect(try await server.ask("/contacts/dora", first).status == 404)
                try workplace.write("people.json", "[{\"id\": \"dora\", \"name\": \"Dora\"}]")
                try writeToken("the-second-token-of-all", in: workplace)

                server.program.signal(SIGHUP)
                try await server.program.says("read the token again")

                let second = bearer("the-second-token-of-all")
                #expect(try await server.ask("/contacts/ada", first).status == 401)
                let dora = try await ServedStore.wait(for: "/contacts/dora", second, at: server) { $0.status == 200 }
                #expect(dora.status == 200)

                // A token that cannot be used leaves the one before in force.
                try writeToken("short", in: workplace)
                server.program.signal(SIGHUP)
                try await server.program.says("The token from before stays in force.")
                #expect(try await server.ask("/contacts/ada", second).status == 200)
            }
            #expect(run.status == 143)
        }
    }

    /// Several signals in a row leave the last token in force.
    @Test func lastOfSeveralHangupsCounts() async throws {
        let workplace = try Workplace()
        try workplace.write("people.json", "[{\"id\": \"ada\"}]")
        try await workplace.run("sync", "people.json").requireSuccess()
        try writeToken("token-number-0-of-this-test", in: workplace)
        try await RunningServer.with(["--token-file", "token"], in: workplace) { server in
            for number in 1...20 {
                try writeToken("token-number-\(number)-of-this-test", in: workplace)
                server.program.signal(SIGHUP)
            }
            let last = bearer("token-number-20-of-this-test")
            let reply = try await ServedStore.wait(for: "/contacts/ada", last, at: server) { $0.status == 200 }
            #expect(reply.status == 200)
        }
    }

    @Test func hangupEndsNoServerWithoutFiles() async throws {
        try await ServedStore.served { server, _ in
            server.program.signal(SIGHUP)
            let reply = try await server.ask("/healthz")
            #expect(reply.status == 200)
        }
    }

    /// The images that are stored stay available, and operators see why they are not kept current.
    @Test func listThatIsGoneShowsInTheFigures() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.json", ServedStore.people(origin))
            let options = ["--sync", "people.json", "--every", "1s", "--allow-private-network"]
            try await RunningServer.with(options, in: workplace) { server in
                try await server.program.says("sync complete: ")
                #expect(try await server.ask("/readyz").text == "The store is open.\n")
                try FileManager.default.removeItem(atPath: workplace.path("people.json"))

                let metrics = try await ServedStore.wait(for: "/metrics", at: server) {
                    $0.text.contains("avatars_last_sync_exit_code 2\n")
                }
                let readiness = try await server.ask("/readyz")

                #expect(metrics.text.contains("avatars_last_sync_exit_code 2\n"))
                #expect(readiness.status == 200 && readiness.text.contains("The last sync could not run (exit code 2)"))
                #expect(try await server.ask("/contacts/ada/picture").status == 200)
            }
            let sync = try await workplace.run("sync", "people.json")
            let statistics = try await workplace.run("stats", "--json")
            #expect(sync.status == 2 && statistics.text.contains("\"exit\":2"))
        }
    }

    /// Without a store, a list that cannot be read makes none.
    @Test func unreadableListOfASyncIsNotedInTheStore() async throws {
        let workplace = try Workplace()
        #expect(try await workplace.run("sync", "people.json").status == 2)
        #expect(try workplace.names.isEmpty)
        try workplace.write("people.json", "[{\"id\": \"ada\"}]")
        try await workplace.run("sync", "people.json").requireSuccess()

        let run = try await workplace.run("sync", "gone.json")

        #expect(run.status == 2)
        #expect(try await workplace.run("stats", "--json").text.contains("\"exit\":2"))
    }
}
