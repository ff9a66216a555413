import AvatarCore
import AvatarIndex
import Foundation

/// Opens an index of which nothing may be changed, also on a disk that cannot be written or has no room.
enum ReadOnlyIndex {
    static func open(_ layout: StoreLayout) throws -> AvatarIndex {
        try read(layout) { try AvatarIndex.openReadOnly(path: layout.indexPath, isImmutable: $0) }
    }

    /// Runs `body`, and once more with the index taken as immutable if it lies on such a disk.
    static func read<Result>(_ layout: StoreLayout, _ body: (_ isImmutable: Bool) throws -> Result) throws -> Result {
        do {
            return try body(false)
        } catch let error as AvatarStoreError where [.storage, .readOnly, .diskFull].contains(error.code) {
            // A WAL needs shared memory, which is a file beside it.
            if error.code == .diskFull {
                try requireEmptyWAL(layout, "The disk of \(layout.indexDirectory) is full")
            } else {
                guard !FileManager.default.isWritableFile(atPath: layout.indexDirectory) else { throw error }
                try requireEmptyWAL(layout, "\(layout.indexDirectory) cannot be written")
            }
            return try body(true)
        }
    }

    private static func requireEmptyWAL(_ layout: StoreLayout, _ reason: String) throws {
        let wal = layout.indexPath + "-wal"
        guard FileManager.default.fileExists(atPath: wal) else { return }
        guard try FileManager.default.attributesOfItem(atPath: wal)[.size] as? Int == 0 else {
            throw AvatarStoreError(
                .readOnly,
                "\(reason), and the index has changes pending in its WAL. Open the "
                    + "store once where it can be written, for example with `avatars migrate`, then try again."
            )
        }
    }
}
