import AvatarFoundation
import AvatarProviders
import AvatarStore
import Workload

/// An origin without a network: it answers at once with the version of an image that is wanted.
final class ScriptedOrigin: OriginClient {
    /// Where the images seem to be.
    static let url = "https://images.example"
    private let wanted = Locked<[Int: Int]>([:])

    /// Serves these versions from now on, by the number of the image; all others are 404.
    func want(_ versions: [Int: Int]) {
        wanted.withLock { $0 = versions }
    }

    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> any BegunRequest {
        request.willSend()
        arrival(.success(OriginArrival(head: response(to: request).head)))
        return Answered(origin: self, request: request)
    }

    fileprivate func response(to request: OriginRequest) -> OriginResponse {
        guard case .remote(let slot)? = ImageKey(key: request.url), let version = wanted.withLock({ $0[slot] }) else {
            return OriginResponse(status: 404, fields: [:], body: OriginBody([]))
        }
        let etag = VersionedOrigin.etag(version)
        let fields: HTTPFields = [.eTag: etag, .cacheControl: "max-age=\(VersionedOrigin.lifetime(of: slot))"]
        if request.fields[.ifNoneMatch] == etag {
            return OriginResponse(status: 304, fields: fields, body: OriginBody([]))
        }
        return OriginResponse(
            status: 200,
            fields: fields,
            body: OriginBody(Image(of: .remote(slot), version: version).bytes)
        )
    }

    private struct Answered: BegunRequest {
        let origin: ScriptedOrigin
        let request: OriginRequest

        func finish<Result: Sendable>(
            receive: nonisolated(nonsending) (OriginResponse) async throws -> Result
        ) async throws -> Result {
            try await receive(origin.response(to: request))
        }

        func cancel() {}
    }
}
