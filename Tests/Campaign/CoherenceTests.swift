import AvatarStore
import Foundation
import ProgramRunning
import Testing
import Workload

@Suite(.serialized, .timeLimit(.minutes(5)))
struct CoherenceTests {
    @Test(
        "the next read returns what another process stored or removed, killed or not",
        arguments: [false, true]
    )
    func coherence(kills: Bool) async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/avatars-coherence-\(UUID().uuidString)"
        defer { removeFolder(directory) }
        let watching = Watching(directory)
        let reads = try await watching.run(rounds: TestMode.isThorough ? 2000 : 150, kills: kills)
        print("coherence: \(reads) reads while another process wrote")
    }
}

/// Reads an image again and again while another process replaces and removes it.
actor Watching {
    private let directory: String
    private let thread = BlockingThread()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ directory: String) {
        self.directory = directory
    }

    /// - Returns: the number of reads.
    func run(rounds: Int, kills: Bool) async throws -> Int {
        let store = try await AvatarStore.open(directory: directory)
        let key = try ImageKey.own(0).key(at: "")
        // An image that does not change, whose uses this process writes in between.
        let still = Image(of: .own(1), version: 1)
        try await store.save(still.bytes, named: ImageKey.own(1).description, in: .caches)
        var worker = try Worker(directory: directory, origin: "http://127.0.0.1:1")
        var stored: String?
        var reads = 0
        for number in 1...rounds {
            let isRemoval = number % 5 == 0
            let next = isRemoval ? nil : Image.digest(of: Image(of: .own(0), version: number).bytes)
            let operation: StoreOperation =
                isRemoval ? .remove([.own(0)]) : .save(0, version: number, number % 3 == 0 ? .documents : .caches)
            try worker.tell(Command(number: number, tick: number, operation).description)
            var hasChanged = false
            let dies = kills && number % 7 == 0
            let lookUntil = dies ? Int.random(in: 0..<40) : .max
            // The worker reports an operation only after its call has returned: from then on only the new state is
            // right.
            var looks = 0
            while !isDone(number, worker), looks < lookUntil {
                let found = try store.storedAvatar(for: key).map { Image.digest(of: $0.bytes) }
                #expect(
                    found == next || (found == stored && !hasChanged),
                    "round \(number): what was replaced came back"
                )
                hasChanged = found == next
                looks += 1
            }
            reads += looks
            if looks >= lookUntil {
                // The kill came before, in or after the call: the state found now is the one that stays.
                worker.kill()
                try worker.waitForEnd()
                stored = try await freshlyRead(key)
                #expect(stored == next || !hasChanged)
                worker = try Worker(directory: directory, origin: "http://127.0.0.1:1")
            } else {
                stored = next
            }
            for _ in 0..<3 {
                let found = try store.storedAvatar(for: key).map { Image.digest(of: $0.bytes) }
                #expect(found == stored, "round \(number): another state than the one that was left")
            }
            #expect(try store.storedAvatar(for: ImageKey.own(1).key(at: ""))?.bytes == still.bytes)
        }
        try worker.tell("close")
        try worker.waitForEnd()
        #expect(worker.status == 0)
        try await store.close()
        return reads
    }

    private func isDone(_ number: Int, _ worker: Worker) -> Bool {
        let isDone = worker.lines(waiting: 0).contains { line in
            if case .end(let ended, _, _) = line { ended == number } else { false }
        }
        return isDone || worker.isSilent
    }

    /// Reads like an opening that has nothing in memory.
    private func freshlyRead(_ key: AvatarKey) async throws -> String? {
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.access = .readOnly
        let store = try await AvatarStore.open(configuration)
        let digest = try store.storedAvatar(for: key).map { Image.digest(of: $0.bytes) }
        try await store.close()
        return digest
    }
}
