import AvatarProviders
import AvatarStore
import AvatarStoreTesting
import Foundation
import HTTPTypes

/// An origin in memory, to measure the store alone. It serves an image at any URL, with the headers of an image service.
struct MemoryOrigin: OriginClient {
    private let image: [UInt8]

    /// - Parameter bytes: The size of each image.
    init(bytes: Int) {
        image = SampleImage.png(seed: 1, byteCount: bytes)
    }

    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        request.willSend()
        var fields = HTTPFields()
        fields[.contentType] = "image/png"
        fields[.contentLength] = "\(image.count)"
        fields[.eTag] = "\"\(String(UInt64(truncatingIfNeeded: request.url.hashValue), radix: 16))-5f3a1c2b9d\""
        fields[.cacheControl] = "public, max-age=86400"
        fields[.date] = "Sun, 01 Nov 2026 10:00:00 GMT"
        fields[.lastModified] = "Tue, 06 Oct 2026 08:12:44 GMT"
        // Different bytes for each URL, so that no two images share a file.
        var bytes = image
        withUnsafeBytes(of: UInt64(truncatingIfNeeded: request.url.hashValue)) { noise in
            bytes.replaceSubrange(image.count / 2..<image.count / 2 + 8, with: noise)
        }
        return OriginTask(arrival) { [bytes, fields] in
            OriginResponse(status: 200, fields: fields, body: OriginBody(bytes))
        }
    }
}
