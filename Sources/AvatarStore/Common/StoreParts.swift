import AvatarCore
package import AvatarFileSystem
import AvatarFiles
package import AvatarIndex
package import AvatarWriter

/// The parts of an open store that reads, syncs, saves and imports work with.
///
/// `AvatarStore` is the public interface on top. It owns these parts and passes them on, so no engine depends on it.
package struct StoreParts: Sendable {
    /// The configuration that the store was opened with.
    package let configuration: StoreConfiguration
    /// The file system of the store.
    package let fileSystem: any FileSystem
    package let index: AvatarIndex
    /// The published files, for reading.
    package let roots: StoredRoots
    /// `nil` in a store that is open for reading only.
    package let writable: Writable?

    /// The parts that only a store open for writing has.
    package struct Writable: Sendable {
        package let places: StorePlaces
        package let writer: StoreWriter
    }

    /// The clock for freshness, backoff and access times.
    package var clock: any WallClock { configuration.clock }

    /// Whether the store is open for reading only.
    var isReadOnly: Bool { writable == nil }

    /// The writer and its directories.
    ///
    /// - Throws: `readOnly` in a store that is open for reading only.
    package func requireWritable() throws(AvatarStoreError) -> Writable {
        guard let writable else {
            throw AvatarStoreError(
                .readOnly,
                "The store at \"\(configuration.layout.indexDirectory)\" cannot be changed: it was opened for reading only."
            )
        }
        return writable
    }

    /// The limits in force.
    ///
    /// - Parameters:
    ///   - mode: the caching mode. Default: `nil`, the configuration's.
    ///   - ceiling: a lower budget in bytes. Default: `nil`, the budget that is set.
    /// - Throws: an error of the index.
    package func limits(mode: CachingMode? = nil, ceiling: Int? = nil) throws -> Limits {
        try SettingValues(of: index).limits(
            mode: mode ?? configuration.mode,
            respectsNoStore: configuration.respectsNoStore,
            allowsSVG: configuration.allowsSVG,
            ceiling: ceiling
        )
    }

    /// Whether the image stored for `key` has the SHA-256 `digest`, and its file is there.
    ///
    /// - Throws: an error of the index.
    func isStored(_ digest: [UInt8], as key: AvatarKey) throws -> Bool {
        guard let entry = try index.entry(for: key), let file = entry.file, try roots.contains(file) else {
            return false
        }
        return entry.sha256 == digest
    }
}
