import AvatarSQLite
import AvatarStore
import Foundation
import Testing
import Workload

/// Two processes on one store take turns to link, unlink, change, prune and remove. After each turn the links in the
/// index agree with the model, and the changes since the last turn explain them.
actor ContactTurns {
    private let directory: String
    private let origin: String
    private let seed: UInt64
    private let thread = BlockingThread()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ directory: String, _ origin: String, seed: UInt64) {
        self.directory = directory
        self.origin = origin
        self.seed = seed
    }

    func run(operations: Int) async throws {
        var random = RandomOperations(seed: seed)
        var model = ContactModel()
        let reader = try await AvatarStore.open(directory: directory)
        var mirror = try ChangeMirror(file: directory + "/no-mirror")
        let workers = try (0..<2).map { _ in try Worker(directory: directory, origin: origin) }
        for worker in workers { _ = worker.next { if case .open = $0 { true } else { false } } }
        for number in 1...operations {
            let operation = Self.withoutEviction(random.nextAboutContacts())
            let command = Command(number: number, tick: number, operation)
            let worker = workers[random.number(below: 2)]
            try worker.tell(command.description)
            let line = worker.next { if case .end = $0 { true } else { false } }
            guard case .end(_, _, let outcome)? = line else { throw WorkerEnded(command: command) }

            model.run(operation, came: outcome)
            let comment: Comment = "AVATARS_SEED=\(seed): \(command) came to \(outcome)"
            let found = try owners()
            try #require(found == model.owners, comment)
            for change in try reader.changes(since: mirror.sequence) { mirror.apply(change) }
            try #require(mirror.faults == [], comment)
            let mirrored = mirror.images.compactMapValues { $0.isEmpty ? nil : Set($0.keys.compactMap { Int($0) }) }
            let known = Dictionary(uniqueKeysWithValues: mirrored.map { (ImageKey(key: $0.key), $0.value) })
            try #require(known == Dictionary(uniqueKeysWithValues: found.map { (Optional($0.key), $0.value) }), comment)
        }
        for worker in workers {
            try worker.tell("close")
            try worker.waitForEnd()
        }
        try await reader.close()
    }

    /// Evictions are not part of this test.
    private static func withoutEviction(_ operation: StoreOperation) -> StoreOperation {
        switch operation {
        case .trim, .setBudget: .unlink(0, .own(0))
        default: operation
        }
    }

    private func owners() throws -> [ImageKey: Set<Int>] {
        let rows = try Connection.using(directory + "/index.sqlite") { connection in
            try connection.rows(
                "SELECT avatar.key, owner.contact FROM owner JOIN avatar ON avatar.id = owner.avatar_id"
            ) { ($0.text("key"), $0.text("contact")) }
        }
        var owners: [ImageKey: Set<Int>] = [:]
        for (key, contact) in rows {
            guard let key = ImageKey(key: key), let contact = Int(contact) else { continue }
            owners[key, default: []].insert(contact)
        }
        return owners
    }
}
