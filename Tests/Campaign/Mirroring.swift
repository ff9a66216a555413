import AvatarSQLite
import AvatarStore
import Foundation
import Testing
import Workload

/// Two processes change a store and are killed. A third mirrors it by its changes, and is killed between reading and
/// acknowledging. In the end the mirror shows the content of the store.
actor Mirroring {
    private let directory: String
    private let origin: String
    private let file: String
    private var random: RandomOperations
    private let thread = BlockingThread()
    private(set) var kills = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ directory: String, _ origin: String, seed: UInt64) {
        self.directory = directory
        self.origin = origin
        file = directory + ".mirror"
        random = RandomOperations(seed: seed)
    }

    func run(rounds: Int) async throws {
        try await AvatarStore.open(directory: directory).close()
        defer { removeFolder(file) }
        for round in 0..<rounds { try work(round) }
        // An opening finishes the work of a killed process.
        try await AvatarStore.open(directory: directory).close()
        let mirror = try readToTheEnd()
        #expect(mirror.faults == [])
        #expect(mirror.sequence > Int64(rounds))
        let images = try storedImages()
        #expect(mirror.images == images)
    }

    /// Runs a script in each of two workers, and kills one of them, while the reader is killed again and again.
    private func work(_ round: Int) throws {
        let workers = try (0..<2).map { number in
            let worker = try Worker(directory: directory, origin: origin)
            for step in 0..<25 {
                let command = Command(number: 2 * step + number, tick: 25 * round + step, random.nextAboutContacts())
                try worker.tell(command.description)
            }
            try worker.tell("close")
            return worker
        }
        let killAfter = random.chance(70) ? random.number(below: 60) : .max
        var lineCount = 0
        while !workers.allSatisfy(\.isSilent) {
            let reader = try Worker(mirroring: directory, in: file)
            let end = ContinuousClock.now + .milliseconds(30 + random.number(below: 120))
            while ContinuousClock.now < end, !workers.allSatisfy(\.isSilent) {
                lineCount += workers.reduce(0) { $0 + $1.lines(waiting: 1).count }
                if lineCount >= killAfter, !workers[1].isSilent {
                    workers[1].kill()
                    kills += 1
                }
            }
            reader.kill()
            try reader.waitForEnd()
            kills += 1
        }
        for worker in workers { try worker.waitForEnd() }
        #expect(workers[0].status == 0)
    }

    private func readToTheEnd() throws -> ChangeMirror {
        let last = try Connection.using(index) { try $0.integer("SELECT sequence FROM change_feed") ?? 0 }
        let reader = try Worker(mirroring: directory, in: file)
        let line = reader.next { if case .kept(last) = $0 { true } else { false } }
        #expect(line != nil)
        reader.kill()
        try reader.waitForEnd()
        return try ChangeMirror(file: file)
    }

    /// The content of the index, read without the code under test. An evicted image counts too.
    private func storedImages() throws -> [String: [String: String]] {
        let rows = try Connection.using(index) { connection in
            try connection.rows(
                """
                SELECT avatar.key, owner.contact, lower(hex(coalesce(file.sha256, avatar.absent_sha256))) AS digest
                FROM avatar JOIN owner ON owner.avatar_id = avatar.id LEFT JOIN file ON file.id = avatar.file_id
                WHERE coalesce(file.sha256, avatar.absent_sha256) IS NOT NULL
                """
            ) { ($0.text("key"), $0.text("contact"), $0.text("digest")) }
        }
        var images: [String: [String: String]] = [:]
        for (key, contact, digest) in rows { images[key, default: [:]][contact] = digest }
        return images
    }

    private var index: String { directory + "/index.sqlite" }
}
