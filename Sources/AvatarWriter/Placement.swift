import AvatarCore
import AvatarFiles
import AvatarIndex

/// The choice of a place for each new image: a file of its own, or one with equal bytes that it shares.
///
/// A published file is shared only if it exists and has its bytes. That is found out between two transactions, because
/// reading a large file takes long; then the places are chosen again.
struct Placing {
    private let changes: [Change]
    private let places: StorePlaces
    /// Files that the last transaction took from the index because they are missing. They have to be unlinked after the commit.
    private(set) var purged: [PendingFile] = []
    /// Files whose bytes have to be compared before the next transaction, with their digests.
    private var unread: [Int64: (FileRecord, sha256: [UInt8])] = [:]
    /// Whether the file with this row id has the bytes of its digest.
    private var isSound: [Int64: Bool] = [:]

    init(_ changes: [Change], _ places: StorePlaces) {
        (self.changes, self.places) = (changes, places)
    }

    /// Whether the last choice holds. If not, each purged file makes room, and unread ones are to be compared first.
    var isComplete: Bool { purged.isEmpty && unread.isEmpty }

    /// Chooses the places, in the order of the changes; `nil` for a change without an image.
    mutating func place(in transaction: IndexTransaction) throws -> [Placement?] {
        purged = []
        var placed: [Content: Placement] = [:]
        var words = RandomWords()
        return try changes.map { try place($0, among: &placed, &words, in: transaction) }
    }

    /// - Parameter placed: the new files of the batch so far, with the first image of each.
    private mutating func place(
        _ change: Change,
        among placed: inout [Content: Placement],
        _ words: inout RandomWords,
        in transaction: IndexTransaction
    ) throws -> Placement? {
        guard let image = change.image else { return nil }
        // A rendition belongs to its original, not to an entry, so it replaces nothing.
        let state = change.isRendition ? nil : try transaction.state(of: change.key)
        let placement = Placement(image: image, entry: state)
        guard try !change.isIgnored(image, in: transaction) else { return placement }
        let label = FileLabel(keys: [change.key.rawValue], originURL: change.sourceURL ?? state?.sourceURL)
        if image.storageClass == .documents { placement.label = label }
        if let first = placed[placement.content] {
            if placement.isDurable { first.isDurable = true }
            first.label?.add(label)
            placement.damaged = first.damaged
            return placement
        }
        guard try !share(placement, adding: label, in: transaction) else { return placement }
        placement.path = FilePath.make(sha256: image.sha256, format: image.image.format, &words)
        placed[placement.content] = placement
        return placement
    }

    /// Lets the image share a published file.
    ///
    /// - Returns: `false` if the file is missing, or if its bytes are damaged.
    private mutating func share(
        _ placement: Placement,
        adding label: FileLabel,
        in transaction: IndexTransaction
    ) throws -> Bool {
        guard let file = try sharedFile(for: placement.image, in: transaction) else { return false }
        placement.published = file
        if placement.image.storageClass == .documents {
            placement.label = FileLabel(try transaction.users(ofFile: file.id))
            placement.label?.add(label)
        }
        guard isSound[file.id] == false else {
            placement.shared = file
            return true
        }
        // Other entries use this file: this image brings their bytes again, durably.
        placement.damaged = file.id
        placement.isDurable = true
        return false
    }

    /// A published file with the image's digest that exists.
    private mutating func sharedFile(for image: StagedImage, in transaction: IndexTransaction) throws -> FileRecord? {
        guard let file = try transaction.file(withDigest: image.sha256, in: image.storageClass) else { return nil }
        // Also a file that may have lost bytes: they are compared below, and heal for all that use it.
        if try places.stored.files(of: file.storageClass).contains(file) {
            if isSound[file.id] == nil { unread[file.id] = (file, image.sha256) }
            return file
        }
        // The row's file was purged. Its entries lose it now, and the bytes get a file of their own.
        if let gone = try transaction.retireFile(id: file.id, absence: .missing, holder: places.holder.name) {
            purged.append(gone)
        }
        return nil
    }

    /// Compares the digests of files that are to be shared. A damaged document is set aside.
    mutating func compare() throws {
        for (id, (file, sha256)) in unread {
            let files = places.files(of: file.storageClass)
            let isSound = try places.stored.files(of: file.storageClass).digest(of: file.path) == sha256
            if !isSound && file.storageClass == .documents { _ = try files.setAside(file.path) }
            self.isSound[id] = isSound
        }
        unread = [:]
    }
}

/// Bytes in a storage class: at most one file holds them.
private struct Content: Hashable {
    let sha256: [UInt8]
    let storageClass: StorageClass

    /// Hashes the digest as a whole; an array would hash each byte for itself.
    func hash(into hasher: inout Hasher) {
        sha256.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The place for one staged image. It is a class, because the steps hand it on many times.
final class Placement {
    package let image: StagedImage
    /// The entry as step 1 found it; `nil` if it does not exist.
    let entry: EntryState?
    /// The published file with the image's digest as step 1 found it; `nil` without one, and for an image that
    /// shares the file of another one in the batch.
    var published: FileRecord?
    /// Whether the file must survive a power loss: a document, or the successor of the last good copy.
    var isDurable: Bool
    /// The name of the new file; `nil` if a file with the same bytes exists or comes with the same batch.
    package var path: String?
    /// The existing file with the same bytes.
    package var shared: FileRecord?
    /// The row id of a published file that should have these bytes and does not: the new file replaces it for all
    /// entries.
    var damaged: Int64?
    /// The keys and URL written into a document, by which it can be listed again without the index.
    var label: FileLabel?

    init(image: StagedImage, entry: EntryState?) {
        self.image = image
        self.entry = entry
        isDurable = entry?.fileID != nil || image.storageClass == .documents
    }

    /// The row id of the file that the entry has now.
    var replaced: Int64? { entry?.fileID }

    fileprivate var content: Content { Content(sha256: image.sha256, storageClass: image.storageClass) }

    /// Whether the commit must survive a power loss. Equal bytes in the same file replace nothing.
    var needsDurableCommit: Bool {
        isDurable && !(shared != nil && shared?.id == replaced && image.storageClass == .caches)
    }

    /// The bytes that the new file adds to the budget's total.
    var budgetBytes: Int {
        path != nil && image.storageClass == .caches ? image.sizeBytes : 0
    }

    /// The new file, while it is pending; `nil` without one.
    func pending(holder: String) -> PendingFile? {
        path.map {
            PendingFile(storageClass: image.storageClass, path: $0, sizeBytes: image.sizeBytes, holder: holder)
        }
    }
}
