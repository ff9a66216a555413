import AvatarCore
import AvatarWriter

extension AvatarStore {
    /// Opens a store as `open(_:)`, for work that frees the disk: if the disk is full, it makes room as `Evictor.makingRoom`.
    ///
    /// - Throws: as `open(_:)`.
    package static func openMakingRoom(_ configuration: Configuration) async throws -> AvatarStore {
        var room = DiskRoom.first
        while true {
            do {
                return try await open(configuration)
            } catch let error as AvatarStoreError where error.code == .diskFull && configuration.access != .readOnly {
                guard try makeRoom(room, configuration) else { throw error }
                room *= 2
            }
        }
    }

    /// Deletes files of a store that cannot be opened for writing.
    ///
    /// - Returns: whether there were any.
    private static func makeRoom(_ bytes: Int, _ configuration: Configuration) throws -> Bool {
        var configuration = configuration
        configuration.access = .readOnly
        let store = try openForReading(configuration)
        let made = try DiskRoom.make(bytes, in: store.roots.caches, store.index)
        try store.closeForReading()
        return made.helps
    }
}
