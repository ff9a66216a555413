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
    /// The prefix of the names of staged images that lie there.
    static let partialPrefix = "../" + partialFolder + "/"

    /// The folder of the kept files, which must not be a symbolic link.
    func partials() throws(SystemCallError) -> Directory {
        try Directory(opening: staging.path + "/" + Self.partialFolder)
    }

    /// Lets `file` stay under `name` if it is not finished.
    package func keep(_ file: StagedFile, as name: String) throws(AvatarStoreError) {
        do throws(SystemCallError) {
            _ = try fileSystem.makeDirectory(Self.partialFolder, in: staging.descriptor, mode: 0o700)
            try file.keep(as: name, in: partials())
        } catch {
            throw error.storeError
        }
    }

    /// Goes on with the file that was kept as `name`; `nil` if it is not there.
    package func resume(_ name: String) throws(AvatarStoreError) -> StagedFile? {
        // A name in an index may come from elsewhere.
        guard FilePath.isPlain(name) else { return nil }
        return try stage(continuing: name, in: partials)
    }

    /// Removes the file that was kept as `name`; one that is gone is fine, and so is a name that leads elsewhere.
    package func removePartial(_ name: String) throws(AvatarStoreError) {
        guard FilePath.isPlain(name) else { return }
        do throws(SystemCallError) {
            try partials().withFolder(of: name) { (folder, name) throws(SystemCallError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isNotHeld { throw error.storeError }
        }
    }
}
