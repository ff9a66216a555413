package import AvatarCore
package import AvatarFiles
package import AvatarIndex
import Synchronization

/// Files whose bytes a power loss may have lost although their length is right: ext4 commits the size of a file before its
/// data, and returns zeros afterwards; and some disks report bytes written that they have not, also those of documents.
///
/// A store open for writing compares their digests once, when it is opened. Where that failed, and in a store that is
/// open for reading only, each use compares the digest, and a file that fails is a miss.
package final class SuspectFiles: Sendable {
    private let index: AvatarIndex
    /// Files with a higher row id are suspect. `Int64.max`: no file is.
    private let lastDurableFile = Atomic<Int64>(.max)

    package init(_ index: AvatarIndex) {
        self.index = index
    }

    /// Makes the files with row ids above `id` suspect.
    package func begin(after id: Int64) {
        lastDurableFile.store(id, ordering: .releasing)
    }

    /// Clears all suspicion, once the files were compared.
    package func end() {
        lastDurableFile.store(.max, ordering: .releasing)
    }

    /// Whether `file` may be used: it is not suspect, or its bytes in `files` have the digest that the index holds.
    ///
    /// - Throws: an error of the disk or the index. The file may have its bytes all the same, so it does not count as lost.
    package func allows(_ file: FileRecord, in files: StoredFiles) throws(AvatarStoreError) -> Bool {
        guard file.id > lastDurableFile.load(ordering: .acquiring) else { return true }
        do {
            return try files.digest(of: file.path) == index.digest(ofFile: file.id)
        } catch let error as AvatarStoreError {
            throw error
        } catch {
            throw AvatarStoreError(.storage, "\(file.path) could not be compared with the index (\(error)).")
        }
    }
}
