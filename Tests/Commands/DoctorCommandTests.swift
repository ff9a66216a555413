import AvatarStoreTesting
import Foundation
import Testing

/// `avatars doctor`.
@Suite(.timeLimit(.minutes(5))) struct DoctorCommandTests {
    private func outcomes(_ run: Run) throws -> [String: String] {
        let checks = try #require(try run.object.objects("checks"))
        let pairs = checks.map { ($0["subject"] as? String ?? "", $0["outcome"] as? String ?? "") }
        return Dictionary(pairs) { [$0, $1].contains("problem") ? "problem" : $1 }
    }

    /// A store with an image of a host on loopback.
    private func withStore(_ body: (Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("list.txt", origin.url("/1.png") + "\n")
            try await workplace.run("sync", "list.txt", "--allow-private-network").requireSuccess()
            try await body(workplace)
        }
    }

    @Test func healthyStoreHasNoProblem() async throws {
        try await withStore { workplace in
            let run = try await workplace.run("doctor", "--allow-private-network", "--json")
            let text = try await workplace.run("doctor", "--allow-private-network")
            let quiet = try await workplace.run("doctor", "--allow-private-network", "--quiet")

            #expect(run.status == 0 && text.status == 0)
            let outcomes = try outcomes(run)
            let good = ["store", "folders", "owners", "disk", "clock", "index", "syncs", "hosts", "names", "trust"]
            #expect(good.allSatisfy { outcomes[$0] == "good" }, "\(outcomes)")
            #expect(text.text.contains("The store opens: 1 entry, schema"))
            #expect(outcomes["network"] != nil && text.lines.count >= good.count && quiet.lines.count < good.count)
        }
    }

    @Test(arguments: [("Asia/Tokyo", "+0900"), ("UTC", "+0000")])
    func timesAreInTheTimeZoneOfTheSystem(zone: String, offset: String) async throws {
        try await withStore { workplace in
            let run = try await workplace.start(["doctor"], environment: ["TZ": zone]).end()
            let clock = try #require(run.lines.first { $0.hasPrefix("clock") })

            #expect(clock.firstMatch(of: /shows \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (.*)\./)?.1 == offset[...], "\(clock)")
        }
    }

    @Test func addressThatTheGuardRefusesIsAProblem() async throws {
        try await withStore { workplace in
            let run = try await workplace.run("doctor", "--json")
            let text = try await workplace.run("doctor")

            #expect(run.status == 1)
            #expect(try outcomes(run)["names"] == "problem")
            #expect(text.text.contains("has the address 127.0.0.1, which the address guard refuses."))
            #expect(text.text.contains("--allow-private-network"))
        }
    }

    @Test func deletedFilesOfTheCachesAreAWarning() async throws {
        try await withStore { workplace in
            let caches = workplace.path("store/caches")
            for folder in try FileManager.default.contentsOfDirectory(atPath: caches) {
                try FileManager.default.removeItem(atPath: caches + "/" + folder)
            }

            let run = try await workplace.run("doctor", "--allow-private-network")

            #expect(run.status == 0 && run.text.contains("1 of 1 files that were looked at are missing"), "\(run.text)")
        }
    }

    @Test func proxyThatAcceptsNoConnectionIsAProblem() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try await workplace.run("migrate").requireSuccess()
            func doctor(_ proxy: String) async throws -> Run {
                try await workplace.run("doctor", environment: ["HTTP_PROXY": proxy, "HTTPS_PROXY": proxy])
            }

            let sound = try await doctor("http://127.0.0.1:\(origin.port)")
            let closed = try await doctor("http://127.0.0.1:1")
            let unknown = try await doctor("http://no-such-host.invalid:3128")

            #expect(sound.text.contains("which accepts connections."))
            #expect(
                closed.status == 1 && closed.text.contains("127.0.0.1:1 cannot be reached: the connection was refused.")
            )
            #expect(unknown.status == 1 && unknown.text.contains("its name cannot be resolved."))
        }
    }

    @Test func fullDiskAndFailedSyncAreReported() async throws {
        try await withStore { workplace in
            try await workplace.run("config", "min-free", "1000000GB").requireSuccess()
            try workplace.write("list.txt", "http://127.0.0.1:1/a.png\n")
            _ = try await workplace.run("sync", "list.txt", "--allow-private-network")

            let run = try await workplace.run("doctor", "--allow-private-network", "--json")

            #expect(run.status == 1)
            let outcomes = try outcomes(run)
            #expect(outcomes["disk"] == "problem" && outcomes["syncs"] == "warning")
        }
    }

    @Test func syncThatCouldNotRunIsAWarning() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try await workplace.run("config", "min-free", "1000000GB").requireSuccess()
            try workplace.write("list.txt", origin.list(1))
            let sync = try await workplace.run("sync", "list.txt", "--allow-private-network")

            let run = try await workplace.run("doctor", "--allow-private-network")

            #expect(sync.status == 2)
            #expect(
                sync.messages.contains(/has [0-9.]+ [kMGT]?B free; the setting `min-free` requires 1 PB\./),
                "\(sync.messages)"
            )
            #expect(run.text.contains("It could not run (exit code 2)."), "\(run.text)")
        }
    }

    @Test func storeThatCannotBeOpenedIsExitCode2_andNothingIsMade() async throws {
        let workplace = try Workplace()
        let missing = try await workplace.run("doctor", "--json")
        #expect(try missing.status == 2 && outcomes(missing)["store"] == "problem")
        #expect(try workplace.names == [])

        try FileManager.default.createDirectory(atPath: workplace.path("store"), withIntermediateDirectories: false)
        try workplace.write("store/index.sqlite", "This is not a database, but a text.")
        let broken = try await workplace.run("doctor", "--json")
        #expect(try broken.status == 2 && outcomes(broken)["store"] == "problem")
        #expect(try outcomes(broken)["trust"] == "good")
    }
}
