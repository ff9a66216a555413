package import AvatarStoreTesting

/// Runs `body` with an origin that serves a different image at every path, with an ETag and fresh for an hour.
package func withImages(_ body: (LoopbackOrigin) async throws -> Void) async throws {
    let origin = try await LoopbackOrigin.start { request in image(request.target) }
    do {
        try await body(origin)
    } catch {
        try await origin.stop()
        throw error
    }
    try await origin.stop()
}

/// The response of `withImages` at `target`.
package func image(_ target: String, version: Int = 1) -> LoopbackOrigin.Response {
    .image(imageBytes(target, version: version), etag: "\"v\(version)\"", cacheControl: "max-age=3600")
}

/// The bytes of that image, some 4 kB.
package func imageBytes(_ target: String, version: Int = 1) -> [UInt8] {
    SampleImage.identicon(for: "\(target) \(version)")
}

extension LoopbackOrigin {
    /// A text list with the URLs of `count` images.
    package func list(_ count: Int, folder: String = "p") -> String {
        (1...count).map { url("/\(folder)/\($0).png") + "\n" }.joined()
    }
}
