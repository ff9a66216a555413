import Workload

/// The calls of several processes on one store at once, and whether their results are possible.
///
/// For each image: content that was seen must have been written before, and must not have been over already. It was
/// over if other content was seen or written after the writing had ended and before the seeing began.
struct History {
    /// A call, from its beginning to its return; one that did not return may have its effect at any time.
    struct Call {
        let command: Command
        let begun: UInt64
        var ended: UInt64?
        var outcome: Outcome?
    }

    /// A moment between two times at which an image had this content; `nil`: no image.
    private struct Sight: Hashable {
        let begun: UInt64
        let ended: UInt64
        let content: String?
    }

    private var calls: [Call] = []
    private let book: ImageBook

    init(_ book: ImageBook) {
        self.book = book
    }

    mutating func add(_ call: Call) {
        book.add(call.command.operation)
        calls.append(call)
    }

    /// The impossible results, given what is stored in the end.
    func faults(_ found: StoreModel) -> [String] {
        let keys = Set(calls.flatMap(\.command.operation.keys)).union(found.entries.keys)
        return keys.sorted { $0.description < $1.description }.flatMap { story(of: $0, found) }
    }

    private func story(of key: ImageKey, _ found: StoreModel) -> [String] {
        let calls = calls.filter { $0.command.operation.keys.contains(key) }
        let sights = calls.flatMap { seen(of: key, $0) }
        var faults: [String] = []
        for sight in sights.filter({ $0.content != nil }) where !isPossible(sight, key, calls, sights) {
            faults.append("\(key) had \(name(sight.content)) when it cannot have had it")
        }
        let last = Sight(begun: .max, ended: .max, content: found.file(of: key).map { book.digest(of: $0.image) })
        if last.content != nil, !isPossible(last, key, calls, sights) {
            faults.append("\(key) has \(name(last.content)) at the end, which is old or never was its own")
        }
        if last.content == nil, !mayBeGone(key, calls) { faults.append("the document \(key) is lost") }
        return faults
    }

    private func name(_ digest: String?) -> String {
        digest.flatMap { book.image(withDigest: $0) }.map { "\($0)" } ?? "other bytes"
    }

    // MARK: What was seen

    private func seen(of key: ImageKey, _ call: Call) -> [Sight] {
        guard let ended = call.ended, let outcome = call.outcome else { return [] }
        let content: String?
        switch (call.command.operation, outcome) {
        case (.save(let name, let version, _), .done):
            content = book.digest(of: Image(of: .own(name), version: version))
        case (.fetch, .image(let digest)), (.read, .image(let digest)): content = digest
        case (.remove, .done): content = nil
        default: return []
        }
        return [Sight(begun: call.begun, ended: ended, content: content)]
    }

    private func isPossible(_ sight: Sight, _ key: ImageKey, _ calls: [Call], _ sights: [Sight]) -> Bool {
        calls.contains { call in
            guard call.begun < sight.ended, writes(call, key, sight.content) else { return false }
            guard let ended = call.ended else { return true }
            return !sights.contains { $0.content != sight.content && $0.begun > ended && $0.ended < sight.begun }
        }
    }

    /// Whether the call may give the image this content.
    private func writes(_ call: Call, _ key: ImageKey, _ content: String?) -> Bool {
        if case .refused = call.outcome { return false }
        return call.command.operation.images(of: key).contains { book.digest(of: $0) == content }
    }

    // MARK: What was lost

    /// Whether the image may be evicted or removed, or was never stored for certain.
    private func mayBeGone(_ key: ImageKey, _ calls: [Call]) -> Bool {
        let saves = calls.filter { call in
            if case .save(_, _, .documents) = call.command.operation { call.outcome == .done } else { false }
        }
        guard let last = saves.compactMap(\.ended).max() else { return true }
        return calls.contains { call in
            switch call.command.operation {
            case .save(_, _, .caches), .fetch(_, _, .caches, _), .move(_, to: .caches), .sync: true
            case .remove: (call.ended ?? .max) > saves.filter { $0.ended == last }.map(\.begun).min() ?? 0
            default: false
            }
        }
    }
}

extension StoreOperation {
    /// The images that the call is about; those of a removed contact are not known.
    var keys: [ImageKey] {
        switch self {
        case .save(let name, _, _): [.own(name)]
        case .fetch(let slot, _, _, _): [.remote(slot)]
        case .read(let key), .move(let key, _): [key]
        case .remove(let keys): keys
        case .sync(let list, _, _), .reconcile(let list, _): list.map { .remote($0.slot) }
        case .link(_, let key), .unlink(_, let key): [key]
        case .forget, .trim, .setBudget: []
        }
    }

    /// The content that the call may give the image.
    fileprivate func images(of key: ImageKey) -> [Image] {
        switch self {
        case .save(let name, let version, _) where key == .own(name): [Image(of: key, version: version)]
        case .fetch(let slot, let version, _, _) where key == .remote(slot): [Image(of: key, version: version)]
        case .sync(let list, _, _):
            list.filter { key == .remote($0.slot) }.map { Image(of: key, version: $0.version) }
        default: []
        }
    }
}
