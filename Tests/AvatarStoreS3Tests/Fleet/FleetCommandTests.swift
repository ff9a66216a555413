import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The command line with a shared tier.
@Suite(.timeLimit(.minutes(5)))
struct FleetCommandTests {
    private static let keys = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "very-secret"]

    private func withOrigin(_ count: Int = 3, _ body: (LoopbackOrigin, _ list: String) async throws -> Void)
        async throws
    {
        let origin = try await LoopbackOrigin.start()
        for number in 0..<count {
            let bytes = SampleImage.png(seed: UInt64(number), byteCount: 900)
            origin.setResponse(.image(bytes, cacheControl: "max-age=3600"), for: "/\(number).png")
        }
        do {
            try await body(origin, (0..<count).map { origin.url("/\($0).png") + "\n" }.joined())
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    @Test func aTierThatIsAwayCostsAWarning() async throws {
        try await withOrigin { origin, list in
            let workplace = try Workplace()
            try workplace.write("list.txt", list)
            let run = try await workplace.run(
                "sync",
                "list.txt",
                "--allow-private-network",
                "--json",
                "--shared",
                "s3://faces/x",
                "--endpoint",
                "http://127.0.0.1:1",
                environment: Self.keys
            )
            #expect(run.status == 0, "\(run.messages)")
            #expect(try run.object.number("fetched") == 3)
            #expect(try run.object.number("shared") == 0)
            #expect(run.messages.contains("127.0.0.1:1"), "\(run.messages)")
            #expect(!run.messages.contains("very-secret"))
            let stats = try await workplace.run("stats")
            #expect(stats.text.contains("shared tier"))
            #expect(stats.text.contains("3 uploads"))
            let metrics = try await workplace.run("stats", "--format", "prometheus")
            #expect(metrics.text.contains("avatars_shared_tier_up 0\n"))
            #expect(metrics.text.contains("avatars_shared_tier_waiting 3\n"))
        }
    }

    private static let misuses: [(arguments: [String], environment: [String: String], message: String)] = [
        (["--endpoint", "http://127.0.0.1:1"], keys, "--endpoint needs --shared"),
        (["--shared", "http://faces/x"], keys, "s3://BUCKET/PREFIX"),
        (["--shared", "s3://faces/x?secret=1"], keys, "s3://BUCKET/PREFIX"),
        (["--shared", "s3://faces/x"], [:], "credentials"),
        (["--shared", "s3://faces/x"], ["AWS_ACCESS_KEY_ID": "key"], "AWS_SECRET_ACCESS_KEY is not"),
        (["--shared", "s3://faces/x", "--endpoint", "ftp://host"], keys, "http"),
    ]

    @Test(arguments: 0..<6)
    func aMisuseIsExplained(_ number: Int) async throws {
        let misuse = Self.misuses[number]
        let workplace = try Workplace()
        let run = try await workplace.start(["sync"] + misuse.arguments, environment: misuse.environment).end()
        #expect(run.status == 64)
        #expect(run.messages.contains(misuse.message), "\(run.messages)")
        #expect(!run.messages.contains("secret=1"))
    }

    @Test(.enabled("needs an S3 engine: scripts/start-seaweedfs") { Fleet.engine != nil })
    func machinesShareABucket() async throws {
        let engine = try #require(Fleet.engine)
        try await withOrigin { origin, list in
            let configuration = engine.configuration
            let environment = [
                "AWS_ACCESS_KEY_ID": engine.credentials.accessKey,
                "AWS_SECRET_ACCESS_KEY": engine.credentials.secretKey,
                "AWS_ENDPOINT_URL": configuration.endpoint ?? "", "AVATARS_ALLOW_PRIVATE_NETWORK": "true",
                "AVATARS_SHARED": "s3://\(engine.bucket)/\(configuration.prefix)",
            ]
            let workplace = try Workplace()
            try workplace.write("list.txt", list)
            func run(_ machine: String, _ arguments: String...) async throws -> Run {
                try await workplace.start(arguments + ["--store", machine], environment: environment).end()
            }
            #expect(try await run("a", "sync", "list.txt", "--json").object.number("fetched") == 3)
            let second = try await run("b", "sync", "list.txt", "--json")
            #expect(try second.object.number("shared") == 3)
            #expect(second.messages.isEmpty)
            let url = origin.url("/1.png")
            let fetched = try await run("c", "fetch", url, "--json")
            #expect(try fetched.object.text("outcome") == "fetched")
            #expect(origin.requestCount == 3)

            let erased = try await run("a", "remove", url, "--erase", "--json")
            #expect(try erased.object.number("sharedObjects") == 2)
            try workplace.write("list.txt", list.split(separator: "\n").filter { $0 != url }.joined(separator: "\n"))
            for machine in ["b", "c"] { _ = try await run(machine, "sync", "list.txt") }
            #expect(try await run("b", "list", "--json").lines.count == 2)

            let shared = environment["AVATARS_SHARED"] ?? ""
            let check = try await run("unused", "verify", "--shared", shared, "--json")
            #expect(check.status == 0, "\(check.messages)")
            let names: Set<String> = [
                "records", "urls", "pictures", "sampled", "claims", "tombstones", "machines", "faults", "faultCount",
                "repaired",
            ]
            #expect(try check.object.names == names)
            #expect(try check.object.number("urls") == 2)
            #expect(try check.object.number("machines") == 3)
            #expect(try check.object.number("faultCount") == 0)
            #expect(!workplace.exists("unused"))
        }
    }
}
