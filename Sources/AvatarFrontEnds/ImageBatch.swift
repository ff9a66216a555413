import AsyncAlgorithms
public import AvatarStore

/// One image of a batch.
public struct FetchedImage: Sendable {
    /// Its place in the list that was given.
    public var index: Int
    /// The image, or the one that takes its place; `nil` for a place without a URL, and for a failure.
    public var image: AvatarImage?
    /// Why it could not be had.
    public var error: AvatarStoreError?
}

/// The images of a list as they arrive: several at once, in no order, one for each place in the list.
///
/// It begins when iteration begins, and waits for whoever iterates: no more images are in memory than are being fetched.
/// Whoever stops iterating, or is cancelled, ends it.
public struct ImageBatch: AsyncSequence, Sendable {
    /// An image, or why there is none.
    public typealias Element = FetchedImage
    typealias Channel = AsyncChannel<FetchedImage>

    let source: ImageSource
    let urls: [String?]
    let options: FetchableImageOptions

    /// Begins to fetch.
    public func makeAsyncIterator() -> Iterator {
        let channel = Channel()
        let task = Task { [self] in
            await fetchAll { await channel.send($0) }
            channel.finish()
        }
        return Iterator(channel: channel, running: RunningTask(task))
    }

    /// Fetches all, at most as many at once as the store has connections.
    private func fetchAll(_ deliver: @escaping @Sendable (FetchedImage) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for (index, url) in urls.enumerated() {
                if running >= source.store.configuration.connections { await group.next() } else { running += 1 }
                guard !Task.isCancelled else { return }
                group.addTask {
                    if let image = await fetch(url, index) { await deliver(image) }
                }
            }
        }
    }

    /// `nil` if it was cancelled.
    private func fetch(_ url: String?, _ index: Int) async -> FetchedImage? {
        guard url != nil else { return FetchedImage(index: index, image: source.fallback(options)) }
        do {
            return FetchedImage(index: index, image: try await source.fetched(url, options))
        } catch is CancellationError {
            return nil
        } catch {
            return FetchedImage(index: index, image: source.fallback(options), error: AvatarStoreError(of: error))
        }
    }

    /// Where an iteration stands.
    public struct Iterator: AsyncIteratorProtocol {
        let channel: Channel
        let running: RunningTask

        /// The next image that arrived; `nil` after the last one.
        public mutating func next() async -> FetchedImage? {
            var iterator = channel.makeAsyncIterator()
            return await iterator.next()
        }
    }
}

extension FetchableImage {
    /// The images of `urls` as they arrive, as a sequence.
    public func fetchBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions()
    ) -> ImageBatch {
        ImageBatch(source: source, urls: urls, options: options.forList)
    }

    /// Fetches the images of `urls`, several at once, and hands over each when it arrives. Returns after the last one.
    ///
    /// - Parameters:
    ///   - urls: the list; a place without a URL has no image.
    ///   - options: where they are kept.
    ///   - partialFetchHandler: called once for each place in the list, also for one without a URL.
    public func fetchBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions(),
        partialFetchHandler: (FetchedImage) async throws -> Void
    ) async rethrows {
        for await image in fetchBatchImages(using: urls, options: options) { try await partialFetchHandler(image) }
    }
}
