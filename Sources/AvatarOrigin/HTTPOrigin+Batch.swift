public import AvatarCore
import AvatarOriginRules
import Synchronization

extension HTTPOrigin: BatchOriginClient {
    /// Begins `request` if the addresses of its host are known, so that nothing has to be waited for.
    ///
    /// The request waits for others until there are 64 of them, `flush` is called, or the client's thread has time.
    ///
    /// - Parameter arrival: called once, on any thread, with the response or an error.
    /// - Returns: `nil` if the addresses are not known or the request is refused. Use `send` then.
    public func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void
    ) -> (any BegunRequest)? {
        do {
            let hops = try RedirectChain(from: request, limit: configuration.maximumRedirects)
            guard let transfer = try transferAtOnce(hops, request) else { return nil }
            let begun = BegunTransfer(origin: self, hops: hops, request: request, transfer: transfer)
            begun.start(arrival)
            return begun
        } catch {
            // `send` will fail in the same way and throw the error.
            return nil
        }
    }

    /// Sends the requests that are held back.
    public func flush() { driver.flush() }
}

/// A request whose first hop is in progress. Redirects are followed only by `finish`.
private final class BegunTransfer: BegunRequest {
    /// The client, which follows redirects.
    private let origin: HTTPOrigin
    /// The chain at its first hop.
    private let hops: RedirectChain
    /// The request as the store passed it.
    private let request: OriginRequest
    /// The first hop.
    private let transfer: Transfer
    /// The response; `nil` until it arrives, or if the request fails.
    private let answer = Mutex<Transfer.Answer?>(nil)

    /// A request that `start` sends.
    init(origin: HTTPOrigin, hops: RedirectChain, request: OriginRequest, transfer: Transfer) {
        self.origin = origin
        self.hops = hops
        self.request = request
        self.transfer = transfer
    }

    /// Sends the request, and calls `arrival` once, on any thread.
    func start(_ arrival: @escaping @Sendable (Result<OriginArrival, any Error>) -> Void) {
        transfer.start { [self] result in
            do {
                let answer = try result.get()
                try origin.check(answer, hops.url)
                self.answer.withLock { $0 = answer }
                var head = OriginHead(status: answer.status, fields: answer.fields)
                (head.isMultiplexed, head.openedConnections) = (answer.isMultiplexed, answer.openedConnections)
                arrival(.success(OriginArrival(head: head, body: answer.body)))
            } catch {
                arrival(.failure(error))
            }
        }
    }

    /// Follows redirects, and passes the final response to `receive`.
    ///
    /// - Throws: `CancellationError` without a response; the errors of `OriginClient.send`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result {
        guard let answer = answer.withLock({ $0 }) else { throw CancellationError() }
        return try await origin.follow(hops, for: request, from: transfer, answer, receive: receive)
    }

    /// Cancels the request unless it has ended.
    func cancel() {
        transfer.cancel()
    }
}
