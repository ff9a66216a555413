package import AvatarCore
package import AvatarFiles
package import AvatarIndex
package import Logging
import Synchronization

/// Files whose bytes a power loss may have lost although their length is right: ext4 commits the size of a file before its
/// data, and returns zeros afterwards; and some disks report bytes written that they have not, also those of documents.
///
/// A store open for writing compares their digests once, when it is opened. Where that failed, and in a store that is
/// open for reading only, each use compares the digest, and a file that fails is a miss.
package final class SuspectFiles: Sendable {
    private let index: AvatarIndex
    private let logger: Logger
    /// Files with a higher row id are suspect. `Int64.max`: no file is.
    private let lastDurableFile = Atomic<Int64>(.max)

    package init(_ index: AvatarIndex, logger: Logger) {
        self.index = index
        self.logger = logger
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
    package func allows(_ file: FileRecord, in files: StoredFiles) -> Bool {
        guard file.id > lastDurableFile.load(ordering: .acquiring) else { return true }
        do {
            return try files.digest(of: file.path) == index.digest(ofFile: file.id)
        } catch {
            // An unproved file is not given out.
            logger.warning("a file could not be compared after a power loss", metadata: ["error": "\(error)"])
            return false
        }
    }
}
