import AvatarCore

@testable import AvatarIndex

/// Changes of files and pending files in an order that a seed decides.
struct RandomChanges {
    private var random: SeededGenerator
    private var next = 0
    private var files: [(id: Int64, entry: Int64)] = []
    private var pending: [PendingFile] = []
    private var batches: [PendingBatch] = []
    private var kept: (files: [(id: Int64, entry: Int64)], pending: [PendingFile], batches: [PendingBatch]) = (
        [], [], []
    )

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// Makes one to three changes.
    mutating func change(_ transaction: IndexTransaction) throws {
        kept = (files, pending, batches)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            next += 1
            switch Int.random(in: 0..<13, using: &random) {
            case 0..<3: try publish(transaction)
            case 3..<5: try addPending(transaction)
            case 5: try finishPending(transaction)
            case 6..<8: try retire(transaction)
            case 8..<10: try removeEntry(transaction)
            case 10: try addBatch(transaction)
            case 11: try finishBatch(transaction)
            default: try splitBatch(transaction)
            }
        }
    }

    /// The last change did not happen.
    mutating func forget() {
        (files, pending, batches) = kept
    }

    private mutating func publish(_ transaction: IndexTransaction) throws {
        let id = try transaction.addFile(next, bytes: .random(in: 1...9999, using: &random), storageClass: someClass())
        files.append((id, try transaction.add("https://example.com/\(next).png", file: id)))
    }

    private mutating func addPending(_ transaction: IndexTransaction) throws {
        let bytes = Int.random(in: 1...9999, using: &random)
        let file = PendingFile.sample(next, bytes: bytes, storageClass: someClass())
        try transaction.addPending(file)
        pending.append(file)
    }

    private mutating func finishPending(_ transaction: IndexTransaction) throws {
        guard let index = pending.indices.randomElement(using: &random) else { return }
        try transaction.dropPending(pending.remove(at: index))
    }

    private mutating func addBatch(_ transaction: IndexTransaction) throws {
        let files = (0..<Int.random(in: 0...4, using: &random)).map { place in
            PendingFile.sample(
                1_000_000 + 8 * next + place,
                bytes: .random(in: 1...9999, using: &random),
                storageClass: someClass()
            )
        }
        if let batch = try transaction.addPending(files, of: "me") { batches.append(batch) }
    }

    private mutating func finishBatch(_ transaction: IndexTransaction) throws {
        guard let index = batches.indices.randomElement(using: &random) else { return }
        try transaction.dropPending(batches.remove(at: index))
    }

    private mutating func splitBatch(_ transaction: IndexTransaction) throws {
        for batch in try transaction.pendingBatches(of: "me") {
            let rest = batch.files.filter { _ in Bool.random(using: &random) }
            try transaction.dropPending(batch, leaving: rest)
            pending += rest
        }
        batches = []
    }

    private mutating func retire(_ transaction: IndexTransaction) throws {
        guard let index = files.indices.randomElement(using: &random) else { return }
        let file = files.remove(at: index)
        if let retired = try transaction.retireFile(id: file.id, absence: .evicted, holder: "me") {
            pending.append(retired)
        }
    }

    private mutating func removeEntry(_ transaction: IndexTransaction) throws {
        guard let index = files.indices.randomElement(using: &random) else { return }
        let file = files.remove(at: index)
        if let retired = try transaction.removeEntry(id: file.entry, fileID: file.id, holder: "me") {
            pending.append(retired)
        }
    }

    private mutating func someClass() -> StorageClass {
        Bool.random(using: &random) ? .caches : .documents
    }
}
