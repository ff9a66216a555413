public import AvatarCore
import HTTPTypes
import NIOHTTP1
import Synchronization

extension HTTPOrigin: BatchOriginClient {
    /// Begins `request` if the addresses of its host are known; otherwise returns `nil`.
    public func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginHead, any Error>) -> Void
    ) -> (any BegunRequest)? {
        do {
            let hops = try RedirectChain(from: request, limit: configuration.maximumRedirects)
            let route = Route(to: hops.url, configuration.proxies)
            guard try hostGuard.admitsAtOnce(hops.url, along: route) else { return nil }
            let begun = BegunHTTPRequest(
                origin: self,
                hops: hops,
                request: request,
                exchange: try exchange(hops, request, along: route)
            )
            outbox.add(to: hops.url.host?.description ?? "") {
                begun.start { result in
                    switch result {
                    case .success(let head):
                        arrival(.success(OriginHead(status: Int(head.status.code), fields: HTTPFields(head.headers))))
                    case .failure(let error):
                        arrival(.failure(OriginFailure.translate(error, host: hops.url, along: route)))
                    }
                }
            }
            return begun
        } catch {
            // `send` will fail in the same way and throw the error.
            return nil
        }
    }

    /// Sends the requests that wait in the outbox.
    public func flush() { outbox.flush() }
}

/// A request whose first hop is in progress.
private final class BegunHTTPRequest: BegunRequest {
    private let origin: HTTPOrigin
    private let hops: RedirectChain
    private let request: OriginRequest
    private let exchange: Exchange
    private let head = Mutex<HTTPResponseHead?>(nil)

    init(origin: HTTPOrigin, hops: RedirectChain, request: OriginRequest, exchange: Exchange) {
        self.origin = origin
        self.hops = hops
        self.request = request
        self.exchange = exchange
    }

    func start(_ arrival: @escaping Exchange.Arrival) {
        exchange.start { [self] result in
            if case .success(let head) = result { self.head.withLock { $0 = head } }
            arrival(result)
        }
    }

    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        guard let head = head.withLock({ $0 }) else { throw CancellationError() }
        return try await origin.follow(
            hops,
            for: request,
            from: HTTPOrigin.Answer(head: head, exchange: exchange),
            receive: receive
        )
    }

    func cancel() {
        exchange.cancel()
    }
}
