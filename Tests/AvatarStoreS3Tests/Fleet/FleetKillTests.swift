import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarStoreS3

/// Machines of a fleet are killed again and again while they sync and erase; the engine is killed and started again in between.
@Suite(
    .enabled("needs an S3 engine: scripts/start-seaweedfs") { Engine.seaweedFS != nil },
    .serialized,
    .timeLimit(.minutes(5))
)
struct FleetKillTests {
    private static let machines = ["a", "b", "c"]
    private static let images = 40
    /// The rounds. A long run sets their number.
    private static let rounds =
        ProcessInfo.processInfo.environment["AVATARS_FLEET_ROUNDS"].flatMap { Int($0) } ?? (Engine.isThorough ? 60 : 4)

    @Test func killedMachinesLeaveNoWrongByte() async throws {
        // An engine of its own, because it is killed too.
        let engine = try Engine("start-seaweedfs")
        defer { engine.kill() }
        let origin = try await LoopbackOrigin.start()
        do {
            var campaign = try Campaign(engine, origin)
            for round in 1...Self.rounds {
                try await campaign.kill(round)
                if round % 40 == 0 { try await campaign.settle() }
            }
            try await campaign.settle()
            try await campaign.requireCleanBucket()
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    /// The fleet, and all that its origin has sent.
    private struct Campaign {
        private let engine: Engine
        private let origin: LoopbackOrigin
        private let workplace: Workplace
        private let environment: [String: String]
        private let tier: S3Tier
        private var random = SystemRandomNumberGenerator()
        /// The number of the present image at each path.
        private var versions = Array(repeating: 0, count: FleetKillTests.images)

        init(_ engine: Engine, _ origin: LoopbackOrigin) throws {
            (self.engine, self.origin) = (engine, origin)
            workplace = try Workplace()
            environment = [
                "AWS_ACCESS_KEY_ID": engine.credentials.accessKey,
                "AWS_SECRET_ACCESS_KEY": engine.credentials.secretKey,
                "AWS_ENDPOINT_URL": engine.configuration.endpoint ?? "", "AVATARS_ALLOW_PRIVATE_NETWORK": "true",
                "AVATARS_SHARED": "s3://\(engine.bucket)/kills",
            ]
            tier = try engine.tier { $0.prefix = "kills" }
            for number in versions.indices { serve(number) }
            try workplace.write("list.txt", versions.indices.map { url($0) + "\n" }.joined())
        }

        private func url(_ number: Int) -> String { origin.url("/\(number).png") }

        /// The image of a version. Its size differs too, so that a mixture of two would not pass.
        private func image(_ number: Int, _ version: Int) -> [UInt8] {
            SampleImage.png(seed: UInt64(number * 10_000 + version), byteCount: 1000 + version % 7)
        }

        private func serve(_ number: Int) {
            let version = versions[number]
            let bytes = image(number, version)
            origin.setResponse(.image(bytes, etag: "\"\(version)\"", cacheControl: "max-age=2"), for: "/\(number).png")
        }

        private func start(_ machine: String, _ arguments: String...) async throws -> RunningProgram {
            try await workplace.start(arguments + ["--store", machine, "--quiet"], environment: environment)
        }

        // MARK: A round

        /// All machines work, and are killed at random moments.
        mutating func kill(_ round: Int) async throws {
            for _ in 0..<4 {
                let number = Int.random(in: versions.indices, using: &random)
                versions[number] += 1
                serve(number)
            }
            let erased = url(Int.random(in: versions.indices, using: &random))
            let erases = round % 5 == 0
            try await withThrowingTaskGroup(of: Void.self) { group in
                for machine in FleetKillTests.machines {
                    let program =
                        try await erases && machine == "a"
                        ? start(machine, "remove", erased, "--erase") : start(machine, "sync", "list.txt")
                    let wait = Duration.milliseconds(Int.random(in: 5...(erases ? 120 : 500), using: &random))
                    group.addTask {
                        try await Task.sleep(for: wait)
                        program.signal(SIGKILL)
                        _ = try await program.end()
                    }
                }
                if round % 20 == 10 { try engine.restart() }
                try await group.waitForAll()
            }
        }

        // MARK: The end

        /// All machines sync to the end. Then each has the present images, and nothing waits.
        mutating func settle() async throws {
            // The images are stale after two seconds, so that each is asked for.
            try await Task.sleep(for: .seconds(3))
            var programs: [RunningProgram] = []
            for machine in FleetKillTests.machines { programs.append(try await start(machine, "sync", "list.txt")) }
            for program in programs {
                let run = try await program.end()
                #expect(run.status == 0, "\(run.messages)")
            }
            for machine in FleetKillTests.machines {
                let verification = try await start(machine, "verify").end()
                #expect(verification.status == 0, "\(machine): \(verification.text)")
                try await requireImages(of: machine)
            }
        }

        private func requireImages(of machine: String) async throws {
            var configuration = AvatarStore.Configuration(directory: workplace.path(machine))
            configuration.access = .readOnly
            try await AvatarStore.withStore(configuration) { store in
                for number in versions.indices {
                    let stored = try store.storedAvatar(for: url(number))
                    #expect(stored?.bytes == image(number, versions[number]), "\(machine): picture \(number)")
                }
                let use = try store.statistics().sharedTier
                #expect(use?.waiting == 0, "\(machine)")
                #expect(use?.waitingErasures == 0, "\(machine)")
            }
        }

        /// The bucket has no fault but surplus, and none after a repair.
        func requireCleanBucket() async throws {
            var check = SharedTierCheck(tier)
            check.grace = .zero
            check.sampleSize = 1000
            let report = try await check.run()
            #expect(report.isSound, "\(report.faults)")
            #expect(report.urls == FleetKillTests.images)
            _ = try await check.run(repair: true)
            let repaired = try await check.run()
            #expect(repaired.faultCount == 0, "\(repaired.faults)")
            #expect(repaired.urls == FleetKillTests.images)
        }
    }
}
