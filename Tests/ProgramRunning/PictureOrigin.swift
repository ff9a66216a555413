package import AvatarStoreTesting

/// Runs `body` with an origin that serves a different picture at every path, with an ETag and fresh for an hour.
package func withPictures(_ body: (LoopbackOrigin) async throws -> Void) async throws {
    let origin = try await LoopbackOrigin.start { request in picture(request.target) }
    do {
        try await body(origin)
    } catch {
        try await origin.stop()
        throw error
    }
    try await origin.stop()
}

/// The response of `withPictures` at `target`.
package func picture(_ target: String, version: Int = 1) -> LoopbackOrigin.Response {
    .image(pictureBytes(target, version: version), etag: "\"v\(version)\"", cacheControl: "max-age=3600")
}

/// The bytes of that picture, some 4 kB.
package func pictureBytes(_ target: String, version: Int = 1) -> [UInt8] {
    SampleImage.identicon(for: "\(target) \(version)")
}

extension LoopbackOrigin {
    /// A text list with the URLs of `count` pictures.
    package func list(_ count: Int, folder: String = "p") -> String {
        (1...count).map { url("/\(folder)/\($0).png") + "\n" }.joined()
    }
}
