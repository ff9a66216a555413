package import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Downloads that were interrupted: their files lie in the folder `partial` beside those of the holders, so that they
/// outlive whoever began them. Which ones are kept, and for how long, is in the index.
extension FileStore {
    private static let partialFolder = "partial"

    /// Where a kept file is, seen from a holder's folder.
    private static func path(ofPartial name: String) -> String { "../" + partialFolder + "/" + name }

    /// Lets `file` stay under `name` if it is not finished.
    package func keep(_ file: StagedFile, as name: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            _ = try fileSystem.makeDirectory(Self.partialFolder, in: staging.descriptor, mode: 0o700)
            try file.keep(as: Self.path(ofPartial: name))
        } catch {
            throw error.storeError
        }
    }

    /// Goes on with the file that was kept as `name`; `nil` if it is not there.
    package func resume(_ name: String) throws(AvatarStoreError) -> StagedFile? {
        try stage(continuing: Self.path(ofPartial: name))
    }

    /// Removes the file that was kept as `name`; one that is gone is fine.
    package func removePartial(_ name: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            try fileSystem.unlink(Self.partialFolder + "/" + name, in: staging.descriptor)
        } catch {
            if !error.isMissing { throw error.storeError }
        }
    }
}
