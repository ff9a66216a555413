import AvatarStoreTesting
import ProgramRunning
import Synchronization

/// An origin that has an image at every path, and can replace them all.
final class ChangingImages: Sendable {
    let origin: LoopbackOrigin
    private let versions: Versions

    private final class Versions: Sendable {
        let current = Mutex(1)
    }

    private init(origin: LoopbackOrigin, versions: Versions) {
        self.origin = origin
        self.versions = versions
    }

    /// Runs `body` with a new origin.
    static func with<Result>(_ body: (ChangingImages) async throws -> Result) async throws -> Result {
        let versions = Versions()
        let origin = try await LoopbackOrigin.start { request in
            image(request.target, version: versions.current.withLock { $0 })
        }
        do {
            let result = try await body(ChangingImages(origin: origin, versions: versions))
            try await origin.stop()
            return result
        } catch {
            try await origin.stop()
            throw error
        }
    }

    /// Replaces the images at all paths.
    func change() {
        versions.current.withLock { $0 += 1 }
    }

    /// The version of the images.
    var version: Int { versions.current.withLock { $0 } }
}
