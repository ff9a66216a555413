#if NIOOrigin
public import AvatarCore
import AvatarOriginRules
import HTTPTypes
import NIOCore
import NIOHTTP1
import Synchronization

extension NIOHTTPOrigin: BatchOriginClient {
    /// Begins `request` if the addresses of its host are known, so that nothing has to be waited for.
    ///
    /// The request waits in the outbox until its batch is full or `flush` is called.
    ///
    /// - Parameter arrival: called once, on any thread, with the response or an error.
    /// - Returns: `nil` if the addresses are not known or the request is refused. Use `send` then.
    public func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> (any BegunRequest)? {
        do {
            let hops = try RedirectChain(from: request, limit: configuration.maximumRedirects)
            let route = Route(to: hops.url, configuration.proxies)
            guard try hostGuard.admitAtOnce(hops.url, along: route) != nil else { return nil }
            let begun = BegunHTTPRequest(
                origin: self,
                hops: hops,
                request: request,
                exchange: try exchange(hops, request, along: route)
            )
            outbox.add(to: hops.url.host?.description ?? "") {
                begun.start { result in
                    arrival(result.mapError { OriginFailure.translate($0, host: hops.url, along: route) })
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
    private let origin: NIOHTTPOrigin
    /// The chain at its first hop.
    private let hops: RedirectChain
    /// The request as the store passed it.
    private let request: OriginRequest
    /// The exchange of the first hop.
    private let exchange: Exchange
    /// The response, and its body as far as it was read ahead; `nil` until it arrives, or if the request fails.
    private let answer = Mutex<NIOHTTPOrigin.Answer?>(nil)

    /// The maximum time in which a small body is collected before the head is delivered without it.
    private static let collectingTime = TimeAmount.milliseconds(250)

    /// A request that `start` sends.
    init(origin: NIOHTTPOrigin, hops: RedirectChain, request: OriginRequest, exchange: Exchange) {
        self.origin = origin
        self.hops = hops
        self.request = request
        self.exchange = exchange
    }

    /// Sends the request, and calls `arrival` once, on any thread, with the response or an error.
    func start(_ arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void) {
        exchange.start { [self] result in
            switch result {
            case .failure(let error):
                arrival(.failure(error))
            case .success(let head) where head.redirects && head.headers.contains(name: "Location"):
                arrive(head, start: nil, arrival: arrival)
            case .success(let head):
                let (limit, time) = (OriginArrival.wholeBodyLimit, Self.collectingTime)
                exchange.collect(upTo: limit, for: time, on: origin.eventLoop) { [self] in
                    arrive(head, start: $0, arrival: arrival)
                }
            }
        }
    }

    private func arrive(
        _ head: HTTPResponseHead,
        start: NIOHTTPOrigin.BodyStart?,
        arrival: @Sendable (Result<OriginArrival, any Error>) -> Void
    ) {
        answer.withLock { $0 = NIOHTTPOrigin.Answer(head: head, exchange: exchange, start: start) }
        let body = start.flatMap { $0.isWhole ? $0.bytes : nil }
        let head = OriginHead(status: Int(head.status.code), fields: HTTPFields(head.headers))
        arrival(.success(OriginArrival(head: head, body: body)))
    }

    /// Follows redirects, and passes the final response to `receive`.
    ///
    /// - Throws: `CancellationError` without a response; the errors of `OriginClient.send`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        guard let answer = answer.withLock({ $0 }) else { throw CancellationError() }
        return try await origin.follow(hops, for: request, from: answer, receive: receive)
    }

    /// Cancels the request unless it has ended.
    func cancel() {
        exchange.cancel()
    }
}
#endif
