package import AvatarStoreTesting
import Synchronization

/// The version of each remote image that a client wants. It is sent in a header field of the requests, so that several
/// processes can share one origin and each knows its responses.
package final class WantedVersions: Sendable {
    static let fieldName = "Wanted-Versions"
    private let versions = Mutex<[Int: Int]>([:])

    package init() {}

    package func want(_ versions: [Int: Int]) {
        self.versions.withLock { $0 = versions }
    }

    var field: (name: String, value: String) {
        let list = versions.withLock { $0.map { "\($0.key)=\($0.value)" } }
        return (Self.fieldName, list.joined(separator: " "))
    }
}

/// An origin that serves the images of a workload.
package enum VersionedOrigin {
    /// How long the images with even numbers stay fresh, in seconds. Those with odd numbers are stale at once.
    package static let lifetime = 30

    /// How long the image `slot` stays fresh, in seconds.
    package static func lifetime(of slot: Int) -> Int {
        slot.isMultiple(of: 2) ? lifetime : 0
    }

    package static func start() async throws -> LoopbackOrigin {
        try await LoopbackOrigin.start { request in
            guard case .remote(let slot)? = ImageKey(key: request.path),
                let version = version(of: slot, in: request.headers[WantedVersions.fieldName] ?? "")
            else { return .status(404) }
            return .image(
                Image(of: .remote(slot), version: version).bytes,
                etag: etag(version),
                cacheControl: "max-age=\(lifetime(of: slot))"
            )
        }
    }

    /// The validator of every image's version `version`.
    package static func etag(_ version: Int) -> String { "\"\(version)\"" }

    private static func version(of slot: Int, in field: String) -> Int? {
        for wish in field.split(separator: " ") {
            let numbers = wish.split(separator: "=").compactMap { Int($0) }
            if numbers.count == 2, numbers[0] == slot { return numbers[1] }
        }
        return nil
    }
}
