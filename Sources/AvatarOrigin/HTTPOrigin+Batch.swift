public import AvatarCore
import HTTPTypes
import NIOHTTP1
import Synchronization

extension HTTPOrigin: BatchOriginClient {
    /// Begins `request` if the addresses of its host are known, so that nothing has to be waited for.
    ///
    /// The request waits in the outbox until its batch is full or `flush` is called.
    ///
    /// - Parameter arrival: called once, on any thread, with the head of the response or an error.
    /// - Returns: `nil` if the addresses are not known or the request is refused. Use `send` then.
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

/// A request whose first hop is in progress. Redirects are followed only by `finish`.
private final class BegunHTTPRequest: BegunRequest {
    /// The client, which follows redirects.
    private let origin: HTTPOrigin
    /// The chain at its first hop.
    private let hops: RedirectChain
    /// The request as the store passed it.
    private let request: OriginRequest
    /// The exchange of the first hop.
    private let exchange: Exchange
    /// The head of the response; `nil` until it arrives, or if the request fails.
    private let head = Mutex<HTTPResponseHead?>(nil)

    /// A request that `start` sends.
    init(origin: HTTPOrigin, hops: RedirectChain, request: OriginRequest, exchange: Exchange) {
        self.origin = origin
        self.hops = hops
        self.request = request
        self.exchange = exchange
    }

    /// Sends the request, and calls `arrival` once, on any thread, with the head or an error.
    func start(_ arrival: @escaping Exchange.Arrival) {
        exchange.start { [self] result in
            if case .success(let head) = result { self.head.withLock { $0 = head } }
            arrival(result)
        }
    }

    /// Follows redirects, and passes the final response to `receive`.
    ///
    /// - Throws: `CancellationError` without a head; the errors of `OriginClient.send`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        guard let head = head.withLock({ $0 }) else { throw CancellationError() }
        return try await origin.follow(
            hops,
            for: request,
            from: HTTPOrigin.Answer(head: head, exchange: exchange),
            receive: receive
        )
    }

    /// Cancels the request unless it has ended.
    func cancel() {
        exchange.cancel()
    }
}
