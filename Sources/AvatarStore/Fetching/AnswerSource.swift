import AvatarCore

/// A source of answers that fetches ask before the host of an image, such as a store that several machines share.
///
/// After any failure of its own it asks the host, so a fetch with it fails only as one without it does. Its counterpart in a
/// commit is `AnswerSink`.
protocol AnswerSource: Sendable {
    // MARK: Fetches

    /// The answers that a sync takes from the source at once.
    var width: Int { get }

    /// Whether it is asked before the host of `target`. Only a task can fetch such an image.
    func serves(_ target: FetchTarget) -> Bool

    /// The answer of the source or of the host.
    ///
    /// - Parameter host: asks the host.
    /// - Returns: `nil` if the image has to be requested later: the source has lost the answer that it had listed, or it gives
    ///   way to another machine that is asking the host.
    /// - Throws: `CancellationError`; an error of `host`.
    func answer(
        _ target: FetchTarget,
        _ fetcher: Fetcher,
        _ patience: AnswerPatience,
        host: (FetchTarget) async throws -> FetchResult
    ) async throws -> FetchResult?

    /// Whether the answer of a host is wanted: other machines may have it. The commit passes it to the sink.
    func wants(_ result: FetchResult, of target: FetchTarget, by fetcher: Fetcher) -> Bool

    /// Called after a commit with answers that were wanted.
    func noteCommit()

    /// Called for an answer that was fetched, and that the store did not keep.
    func giveUp(_ key: AvatarKey)

    // MARK: Syncs

    /// Begins a sync, within `limit`. What is left waits for the next one.
    ///
    /// - Throws: an error of the index or the disk.
    func begin(within limit: Duration) async throws

    /// A listing for one sync, which has listed nothing yet.
    func listing() -> any AnswerListing

    /// Ends a use of the store, within `limit`. What is left waits for the next one.
    ///
    /// - Throws: an error of the index.
    func finish(within limit: Duration) async throws

    // MARK: The store

    /// Carries out erasures that wait.
    ///
    /// - Returns: the objects deleted; `nil` if the erasures still wait.
    /// - Throws: `CancellationError`; an error of the index.
    func erase() async throws -> Int?

    /// Ends the use of the source.
    ///
    /// - Throws: an error of the index.
    func close() async throws
}

/// How to go on while another machine asks the host.
enum AnswerPatience: Sendable {
    /// The fetch gives way: the image is asked for again later, until the claim has ended, counted from the first time.
    case givingWay
    /// The fetch waits for at most this time, and then asks the host too.
    case waiting(Duration)
}

/// The answers of a source, as one sync lists them.
protocol AnswerListing {
    /// Lists on, if the answers for some of `urls` are not known and listing costs no more than a request for each.
    mutating func extend(to urls: [String]) async

    /// Tells what the source has for an image.
    var view: @Sendable (FetchTarget) -> ListedAnswer { get }
}
