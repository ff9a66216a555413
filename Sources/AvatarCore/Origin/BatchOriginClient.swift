package import HTTPTypes

/// An origin client that begins requests by plain calls.
///
/// A task for each request costs as much as the request itself where the answer is only that nothing changed; a sync of
/// thousands of such images begins them by calls, and is told of their answers together.
package protocol BatchOriginClient: OriginClient {
    /// Begins `request`. It may wait for others until `flush` is called, to be sent together with them.
    ///
    /// - Parameter arrival: called once, on any thread: with the head of the first answer, or the `OriginError` or
    ///   `CancellationError` that came instead. An answer without a body, such as a 304, has ended by then.
    /// - Returns: `nil` if it cannot be begun without waiting for something; `send` does that.
    func begin(
        _ request: OriginRequest,
        arrival: @escaping @Sendable (Result<OriginHead, any Error>) -> Void
    ) -> (any BegunRequest)?

    /// Sends what was begun and still waits. To be called when nothing more is begun for now.
    func flush()
}

/// The head of an answer.
package struct OriginHead: Sendable {
    /// The status code.
    package var status: Int
    /// The header fields.
    package var fields: HTTPFields

    /// A head with `status` and `fields`.
    package init(status: Int, fields: HTTPFields) {
        self.status = status
        self.fields = fields
    }
}

/// A request that was begun. Whoever has it either goes on with it or cancels it, unless the answer had no body.
package protocol BegunRequest: Sendable {
    /// Goes on from the head that arrived, as `OriginClient.send` does: redirects are followed, and the final answer is
    /// handed to `receive`.
    func finish<Result: Sendable>(receive: (OriginResponse) async throws -> Result) async throws -> Result

    /// Ends it: whoever waits for the head is told of a `CancellationError`.
    func cancel()
}
