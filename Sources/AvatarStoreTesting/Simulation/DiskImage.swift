import AvatarFoundation
import AvatarLoopback

/// The content of a simulated disk: as processes see it, and how much of that is on stable storage. A value: a copy
/// keeps the disk as it is now.
///
/// Each change is recorded with a number, in order, until it is on stable storage. A loss of power then chooses which of
/// the recorded changes had reached the disk, as far as its model allows (`afterLossOfPower`).
package struct DiskImage: Sendable {
    /// The number of a file or folder.
    typealias Inode = UInt64

    /// A file, a folder or a symbolic link.
    struct Node: Sendable {
        enum Kind: Sendable { case file, folder, link }

        let kind: Kind
        var mode: UInt32
        /// The bytes of a file, or the path in a link, as processes read them.
        var content = Data()
        /// The names in a folder, as processes see them.
        var entries: [String: Inode] = [:]
        /// The folder that holds this folder.
        var parent: Inode = 0
        /// The number of names of a file.
        var linkCount = 0
        var attributes: [String: [UInt8]] = [:]
        /// When the content changed last, in nanoseconds.
        var changed: Int64 = 0
        /// How often the node is open.
        var openings = 0
        /// The part that is on stable storage: content, attributes and, of a folder, names.
        var stable = Stable()
        /// The changes of the content that are not.
        var pending: [FileChange] = []
        /// Whether a synchronization of everything lost bytes, as no synchronization of the file has reported.
        var hasLostBytes = false
    }

    /// The part of a node that a disk has for certain.
    struct Stable: Sendable {
        var content = Data()
        var attributes: [String: [UInt8]] = [:]
        var entries: [String: Inode] = [:]
    }

    /// A change of a file.
    struct FileChange: Sendable {
        enum Kind: Sendable {
            case bytes(Data, at: Int)
            case length(Int)
            case attribute(String, [UInt8]?)
        }

        let number: Int
        let kind: Kind
    }

    /// A change of names by one call: a rename changes two at once.
    struct NameChange: Sendable {
        struct Entry: Sendable {
            let folder: Inode
            let name: String
            /// `nil`: the name goes.
            let node: Inode?
        }

        let number: Int
        let entries: [Entry]
        /// Whether a folder of it was synchronized since.
        var isSynchronized = false
    }

    static let root: Inode = 1

    /// All nodes by number.
    var nodes: [Inode: Node]
    /// The number of the next node.
    private var nextInode: Inode = 2
    /// The changes of names since all of them were on stable storage.
    private(set) var names: [NameChange] = []
    /// The number of the last change.
    private(set) var changeCount = 0
    /// The last change that a journal which commits as a whole has on stable storage.
    private(set) var committedAll = 0
    /// The last change that a journal which commits up to a node's own last change has on stable storage.
    private(set) var committedOwn = 0

    /// An empty disk.
    package init() {
        nodes = [Self.root: Node(kind: .folder, mode: 0o755, parent: Self.root)]
    }

    // MARK: Changes

    /// Makes a node without a name.
    mutating func makeNode(_ kind: Node.Kind, mode: UInt32, parent: Inode = 0, at time: Int64) -> Inode {
        defer { nextInode += 1 }
        nodes[nextInode] = Node(kind: kind, mode: mode, parent: parent, changed: time)
        return nextInode
    }

    /// Changes names, all at once.
    mutating func setNames(_ entries: [NameChange.Entry], at time: Int64) {
        changeCount += 1
        for entry in entries {
            if let old = nodes[entry.folder]?.entries[entry.name] { nodes[old]?.linkCount -= 1 }
            nodes[entry.folder]?.entries[entry.name] = entry.node
            nodes[entry.folder]?.changed = time
            guard let node = entry.node else { continue }
            nodes[node]?.linkCount += 1
            if nodes[node]?.kind == .folder { nodes[node]?.parent = entry.folder }
        }
        names.append(NameChange(number: changeCount, entries: entries))
    }

    /// Changes a file.
    mutating func change(_ inode: Inode, _ kind: FileChange.Kind, at time: Int64) {
        changeCount += 1
        let number = changeCount
        nodes[inode]?.content.apply(kind)
        if case .attribute(let name, let value) = kind { nodes[inode]?.attributes[name] = value }
        nodes[inode]?.changed = time
        nodes[inode]?.pending.append(FileChange(number: number, kind: kind))
    }

    // MARK: Synchronization

    /// Makes a file's content, or a folder's names, durable.
    mutating func synchronize(_ inode: Inode) {
        guard let node = nodes[inode] else { return }
        settle(inode)
        let own =
            node.kind == .folder
            ? names.last { $0.entries.contains { $0.folder == inode } }?.number
            : names.last { $0.entries.contains { $0.node == inode } }?.number
        committedOwn = max(committedOwn, own ?? 0, node.pending.last?.number ?? 0)
        committedAll = changeCount
        if node.kind == .folder { settleNames(of: inode) }
        forgetSettledNames()
    }

    /// Makes everything durable.
    mutating func synchronizeAll() {
        for (inode, node) in nodes where !node.pending.isEmpty { settle(inode) }
        for index in names.indices { names[index].isSynchronized = true }
        committedAll = changeCount
        committedOwn = changeCount
        forgetSettledNames()
    }

    /// A synchronization failed: bytes that were not on stable storage stay visible, but are never written any more.
    mutating func lose(_ inode: Inode) {
        nodes[inode]?.pending.removeAll { if case .attribute = $0.kind { false } else { true } }
    }

    /// The synchronization of everything failed. The system tells it to each file once (`errseq`).
    mutating func loseAll() {
        for (inode, node) in nodes where !node.pending.isEmpty {
            lose(inode)
            nodes[inode]?.hasLostBytes = true
        }
    }

    /// The system drops the pages of a file that no synchronization will write any more. It reads the disk instead, which has
    /// zeros where it has nothing.
    mutating func drop(_ inode: Inode) {
        guard var node = nodes[inode], node.kind == .file else { return }
        var content = node.stable.content
        for change in node.pending { content.apply(change.kind) }
        content.count = max(content.count, node.content.count)
        node.content = content
        nodes[inode] = node
    }

    /// The system drops the pages of all files.
    mutating func dropAll() {
        for inode in nodes.keys { drop(inode) }
    }

    /// Whether a file lost bytes that no synchronization of the file has reported.
    mutating func reportLoss(_ inode: Inode) -> Bool {
        defer { nodes[inode]?.hasLostBytes = false }
        return nodes[inode]?.hasLostBytes == true
    }

    private mutating func settle(_ inode: Inode) {
        guard var node = nodes[inode], !node.pending.isEmpty else { return }
        // Applied to what is stable, because a failed synchronization may have dropped earlier changes.
        nodes[inode] = nil
        for change in node.pending { node.stable.apply(change.kind) }
        node.pending = []
        nodes[inode] = node
    }

    /// Marks the changes of a folder, and the earlier ones of the same names elsewhere, as durable.
    private mutating func settleNames(of folder: Inode) {
        struct Place: Hashable {
            let folder: Inode
            let name: String
        }
        var places: Set<Place> = []
        for index in names.indices.reversed() where !names[index].isSynchronized {
            let own = names[index].entries.map { Place(folder: $0.folder, name: $0.name) }
            guard own.contains(where: { $0.folder == folder || places.contains($0) }) else { continue }
            names[index].isSynchronized = true
            places.formUnion(own)
        }
    }

    /// Moves the changes that are durable in every model to the stable names.
    private mutating func forgetSettledNames() {
        let count = names.prefix { $0.isSynchronized && $0.number <= min(committedAll, committedOwn) }.count
        guard count > 0 else { return }
        for change in names.prefix(count) {
            for entry in change.entries { nodes[entry.folder]?.stable.entries[entry.name] = entry.node }
        }
        names.removeFirst(count)
        if names.isEmpty { removeUnused() }
    }

    /// Removes the nodes that no name and no process has.
    private mutating func removeUnused() {
        let unused = nodes.filter { inode, node in
            inode != Self.root && node.linkCount <= 0 && node.openings == 0
        }
        for inode in unused.keys { nodes[inode] = nil }
    }

    /// The bytes of the files in the folder at the absolute `path` and its subfolders.
    package func byteCount(below path: String) -> Int {
        var folders = [Self.root]
        for part in path.split(separator: "/") {
            folders = folders.compactMap { nodes[$0]?.entries[String(part)] }
        }
        var count = 0
        while let folder = folders.popLast() {
            for child in (nodes[folder]?.entries ?? [:]).values {
                if nodes[child]?.kind == .folder {
                    folders.append(child)
                } else {
                    count += nodes[child]?.content.count ?? 0
                }
            }
        }
        return count
    }

    /// The bytes of all files that have a name or are open. Others are kept because a loss of power may bring their names back.
    var byteCount: Int {
        nodes.values.reduce(0) { $1.linkCount > 0 || $1.openings > 0 ? $0 + $1.content.count : $0 }
    }
}

extension DiskImage.Stable {
    fileprivate mutating func apply(_ kind: DiskImage.FileChange.Kind) {
        content.apply(kind)
        if case .attribute(let name, let value) = kind { attributes[name] = value }
    }
}

extension Data {
    fileprivate mutating func apply(_ kind: DiskImage.FileChange.Kind) {
        switch kind {
        case .bytes(let bytes, let offset):
            if count < offset + bytes.count { count = offset + bytes.count }
            bytes.withUnsafeBytes { bytes in
                guard let address = bytes.baseAddress else { return }
                replaceSubrange(offset..<(offset + bytes.count), with: address, count: bytes.count)
            }
        case .length(let length): count = length
        case .attribute: break
        }
    }
}

// MARK: - Loss of power

/// The rules by which a disk loses what was not synchronized.
public enum PowerLossModel: String, Sendable, CaseIterable {
    /// A journal that commits all names and lengths in order, as ext4 has it: any number of the last changes is gone.
    /// Data is written when it pleases, by sectors of 512 bytes: a file may have its length and zeros.
    case ordered
    /// A journal that commits names in order, up to the last change of what was synchronized, and a file's length with
    /// its data, as XFS has it: a file that was not synchronized is often empty.
    case delayed
    /// POSIX allows any of the changes that were not synchronized, in any combination; data torn at 512 bytes.
    case strict
}

extension DiskImage {
    /// The unit that a disk writes whole or not at all, in bytes.
    fileprivate static let sectorSize = 512

    /// The disk after a loss of power at this moment.
    ///
    /// - Parameters:
    ///   - model: what may be lost.
    ///   - seed: chooses among the states that the model allows. Equal seeds choose equally.
    package func afterLossOfPower(_ model: PowerLossModel, seed: UInt64) -> DiskImage {
        var random = SplitMix64(seed: seed)
        var after = DiskImage()
        after.nextInode = nextInode
        // Often all or nothing of what is not durable survives: those are the states that a plain fault shows in.
        let share = [0.0, 0.1, 0.5, 0.9, 1.0].randomElement(using: &random) ?? 0.5
        let committed = model == .delayed ? committedOwn : committedAll
        let cut: Int =
            switch share {
            case 0: committed
            case 1: changeCount
            default: Int.random(in: committed...changeCount, using: &random)
            }

        var entries = nodes.compactMapValues { $0.kind == .folder ? $0.stable.entries : nil }
        for change in names {
            let survives =
                model == .strict
                ? change.isSynchronized || Double.random(in: 0..<1, using: &random) < share : change.number <= cut
            guard survives else { continue }
            for entry in change.entries { entries[entry.folder]?[entry.name] = entry.node }
        }

        // Sorted, so that a seed chooses the same in every run.
        var waiting = [(Self.root, Self.root)]
        after.nodes = [:]
        while let (inode, parent) = waiting.popLast() {
            if after.nodes[inode] != nil {
                after.nodes[inode]?.linkCount += 1
                continue
            }
            guard let node = nodes[inode] else { continue }
            var kept = Node(kind: node.kind, mode: node.mode, parent: parent, changed: node.changed)
            kept.linkCount = 1
            switch node.kind {
            case .folder:
                for (name, child) in (entries[inode] ?? [:]).sorted(by: { $0.key < $1.key }) where nodes[child] != nil {
                    kept.entries[name] = child
                    waiting.append((child, inode))
                }
            case .file: kept.stable = node.survivors(model, share, cut, &random)
            case .link: kept.stable.content = node.content
            }
            kept.stable.entries = kept.entries
            kept.content = kept.stable.content
            kept.attributes = kept.stable.attributes
            after.nodes[inode] = kept
        }
        return after
    }

    /// The disk as it is, when the processes on it have died and the power has not.
    package func afterEndOfProcesses() -> DiskImage {
        var after = self
        for inode in after.nodes.keys { after.nodes[inode]?.openings = 0 }
        return after
    }
}

extension DiskImage.Node {
    /// The part of a file that a loss of power leaves.
    fileprivate func survivors(
        _ model: PowerLossModel,
        _ share: Double,
        _ cut: Int,
        _ random: inout SplitMix64
    ) -> DiskImage.Stable {
        guard !pending.isEmpty else { return stable }
        switch model {
        case .delayed:
            let possible = pending.prefix { $0.number <= cut }.count
            let count = [0, possible, Int.random(in: 0...possible, using: &random)].randomElement(using: &random) ?? 0
            var left = stable
            for change in pending.prefix(count) { left.apply(change.kind) }
            return left
        case .ordered: return torn(lengthsThrough: cut, share, &random)
        case .strict:
            let count = Int((share * Double(pending.count)).rounded())
            let last = [0, count, pending.count].randomElement(using: &random) ?? count
            return torn(lengthsThrough: last == 0 ? 0 : pending[last - 1].number, share, &random)
        }
    }

    /// The file with its length and attributes as of the change `last`, and each of its sectors as of any change.
    private func torn(lengthsThrough last: Int, _ share: Double, _ random: inout SplitMix64) -> DiskImage.Stable {
        let size = DiskImage.sectorSize
        var left = stable
        var length = stable.content.count
        // The change through which each sector was written.
        var through: [Int: Int] = [:]
        for change in pending {
            switch change.kind {
            case .bytes(let bytes, let offset):
                if change.number <= last { length = max(length, offset + bytes.count) }
                guard !bytes.isEmpty else { continue }
                for sector in offset / size...(offset + bytes.count - 1) / size {
                    let limit = through[sector] ?? pickLimit(share, &random)
                    through[sector] = limit
                    guard change.number <= limit else { continue }
                    let begin = max(offset, sector * size)
                    let end = min(offset + bytes.count, (sector + 1) * size)
                    left.apply(.bytes(bytes.subdata(in: (begin - offset)..<(end - offset)), at: begin))
                }
            case .length(let bytes):
                guard change.number <= last else { continue }
                length = bytes
                // Bytes behind the new end are gone, whenever they were written.
                if left.content.count > bytes { left.apply(.length(bytes)) }
            case .attribute: if change.number <= last { left.apply(change.kind) }
            }
        }
        left.apply(.length(length))
        return left
    }

    /// The last change that a sector has: none, all, or any.
    private func pickLimit(_ share: Double, _ random: inout SplitMix64) -> Int {
        guard Double.random(in: 0..<1, using: &random) < share else { return 0 }
        if Bool.random(using: &random) { return .max }
        return pending.randomElement(using: &random)?.number ?? .max
    }
}
