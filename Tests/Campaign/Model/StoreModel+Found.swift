import AvatarStore
import AvatarStoreTesting
import Workload

extension StoreModel {
    /// The model of what an inspection found, without uses that no process has written.
    init(_ index: IndexSnapshot, _ book: ImageBook) {
        let beginning = ManualClock().now().milliseconds
        budget = index.budget ?? budget
        for file in index.files {
            // A file of unknown bytes is a finding of the inspection.
            guard let image = book.image(withDigest: file.digest) else { continue }
            let lastAccess = file.lastAccess - beginning * 1000
            files[file.id] = File(storageClass: file.storageClass, image: image, lastAccess: lastAccess)
        }
        lastFile = index.lastFile
        for found in index.entries {
            guard let key = ImageKey(key: found.key) else { continue }
            var entry = Entry(storageClass: found.storageClass)
            entry.file = found.file
            entry.isEvicted = found.absence == "evicted"
            entry.version = found.etag.flatMap { Int($0.filter(\.isNumber)) }
            entry.freshUntil = found.freshUntil.map { Int($0 - beginning) / 1000 }
            entry.owners = Set(found.owners.compactMap { Int($0) })
            entry.waiting = Set(found.waiting.compactMap { Int($0) })
            entries[key] = entry
        }
    }

    /// The same, with the uses that the processes of `expected` have not written yet.
    ///
    /// A file that replaced another has its time. Where that time tells when an unwritten use was within its tick, it
    /// counts for the use too: of equal times the older row goes first.
    func adopting(touches expected: StoreModel) -> StoreModel {
        var model = self
        let known = times(learntOver: expected)
        model.touches = expected.touches.mapValues { touches in
            Dictionary(
                touches.compactMap { id, time in
                    expected.files[id].flatMap { file(with: $0.image, in: $0.storageClass) }
                        .map { ($0, known[time] ?? time) }
                },
                uniquingKeysWith: max
            )
        }
        return model
    }

    /// The times of files as found, by the times that `expected` gave them.
    private func times(learntOver expected: StoreModel) -> [Int64: Int64] {
        Dictionary(
            expected.files.values.compactMap { file in
                self.file(with: file.image, in: file.storageClass)
                    .flatMap { files[$0] }
                    .map { (file.lastAccess, $0.lastAccess) }
            },
            uniquingKeysWith: max
        )
    }

    /// The differences between `found` and this model. Times are compared by their tick.
    func differences(from found: StoreModel) -> [String] {
        var differences: [String] = []
        if budget != found.budget { differences.append("the budget is \(found.budget), not \(budget)") }
        for key in Set(entries.keys).union(found.entries.keys).sorted(by: { $0.description < $1.description }) {
            let (expected, there) = (line(of: key), found.line(of: key))
            if expected != there {
                differences.append("\(key) is \(there ?? "not there"), expected \(expected ?? "not to be there")")
            }
        }
        let (expected, there) = (fileLines, found.fileLines)
        differences += expected.subtracting(there).sorted().map { "missing: \($0)" }
        differences += there.subtracting(expected).sorted().map { "unexpected: \($0)" }
        return differences
    }

    /// All that is compared of an entry.
    func line(of key: ImageKey) -> String? {
        guard let entry = entries[key] else { return nil }
        let file = entry.file.flatMap { files[$0] }
        let content = file.map { "\($0.storageClass.rawValue) file \($0.image)" } ?? "no file"
        let fresh = entry.freshUntil.map { ", fresh until \($0)" } ?? ""
        let version = entry.version.map { ", version \($0)" } ?? ""
        return
            "\(entry.storageClass.rawValue) entry, \(content)\(entry.isEvicted ? ", evicted" : "")\(version)\(fresh), "
            + "owners \(entry.owners.sorted())"
    }

    private var fileLines: Set<String> {
        Set(
            files.values.map { file in
                "\(file.storageClass.rawValue) file \(file.image), used at \(file.lastAccess / Self.microsecondsPerTick)"
            }
        )
    }
}
