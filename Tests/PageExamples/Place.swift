import AvatarStore
import AvatarStoreTesting
import Foundation

/// A directory for a store that is opened as on the pages, except that it may connect to loopback.
struct Place {
    let path: String
    let origin: LoopbackOrigin

    /// Runs `body` with an empty directory and an origin, and removes both.
    static func with(_ body: (Place) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "avatar-pages-" + UUID().uuidString
        let place = Place(path: path, origin: try await LoopbackOrigin.start())
        // If this fails, the files stay in the system's temporary folder, which is emptied regularly.
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            try await body(place)
        } catch {
            try await place.origin.stop()
            throw error
        }
        try await place.origin.stop()
    }

    /// Serves an image at `path`, different for each path, and returns its URL.
    func serve(_ path: String) -> String {
        origin.setResponse(.image(Self.image(path), etag: "\"1\"", cacheControl: "max-age=3600"), for: path)
        return origin.url(path)
    }

    static func image(_ path: String) -> [UInt8] { SampleImage.identicon(for: path) }
}

extension AvatarStore.Configuration {
    init(directory: Place) {
        self.init(directory: directory.path)
        http.allowsPrivateNetworks = true
    }
}

extension AvatarStore {
    static func open(directory: Place) async throws -> AvatarStore {
        try await open(Configuration(directory: directory))
    }

    static func withStore<Result>(
        at directory: Place,
        _ body: (AvatarStore) async throws -> Result
    ) async throws -> Result {
        try await withStore(Configuration(directory: directory), body)
    }
}
