public import AvatarStore

/// The result for one element of a batch.
public struct FetchedImage: Sendable {
    /// The index of the element in the given list.
    public var index: Int
    /// The image or, for a failure or an element without a URL, the fallback; `nil` if there is no fallback.
    public var image: AvatarImage?
    /// The error of a failed fetch, even if `image` is the fallback; `nil` otherwise.
    public var error: AvatarStoreError?
}

/// The images of a list, fetched concurrently. There is one element for each element of the list, in order of arrival.
///
/// The fetches start with the iteration. A slow consumer slows them down, so at most as many images are in memory as
/// the store has connections. Ending the iteration or cancelling its task cancels the fetches.
public struct ImageBatch: AsyncSequence, Sendable {
    /// An image, or the error of its fetch.
    public typealias Element = FetchedImage

    let source: ImageSource
    let urls: [String?]
    let options: FetchableImageOptions

    /// Starts the fetches.
    public func makeAsyncIterator() -> Iterator {
        let images = Handover<FetchedImage, Never>()
        let task = Task { [self] in
            await fetchAll { await images.send($0) }
            images.finish()
        }
        return Iterator(images: images, running: RunningTask(task))
    }

    /// Fetches all images, at most as many at a time as the store has connections.
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

    /// Fetches one element. Returns `nil` if it was cancelled.
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

    /// An iteration over the batch. Releasing it cancels the fetches.
    public struct Iterator: AsyncIteratorProtocol {
        let images: Handover<FetchedImage, Never>
        let running: RunningTask

        /// The next image to arrive; `nil` after the last one.
        public mutating func next() async -> FetchedImage? {
            await images.next()
        }
    }
}

extension FetchableImage {
    /// The images at `urls` as a sequence, in order of arrival. Nothing is fetched before the iteration starts.
    ///
    /// - Parameters:
    ///   - urls: the URLs. An element without a URL gets the fallback, if there is one.
    ///   - options: the storage class and the fallback. A custom name is ignored.
    public func fetchBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions()
    ) -> ImageBatch {
        ImageBatch(source: source, urls: urls, options: options.forList)
    }

    /// Fetches the images at `urls` concurrently, and passes each to a handler when it arrives. Returns after the last
    /// one.
    ///
    /// - Parameters:
    ///   - urls: the URLs. An element without a URL gets the fallback, if there is one.
    ///   - options: the storage class and the fallback. A custom name is ignored.
    ///   - partialFetchHandler: called once for each element of `urls`, even one without a URL.
    /// - Throws: the error of `partialFetchHandler`, which cancels the other fetches.
    public func fetchBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions(),
        partialFetchHandler: (FetchedImage) async throws -> Void
    ) async rethrows {
        for await image in fetchBatchImages(using: urls, options: options) { try await partialFetchHandler(image) }
    }
}
