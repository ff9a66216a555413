import AvatarStore
public import Foundation

/// The same with completion handlers. A handler is called once, on no particular thread; not at all if the task that is
/// returned is cancelled first.
extension FetchableImage {
    /// Fetches the image at `url`; `nil` if it could not be had and there is no fallback.
    @discardableResult
    public func fetchImage(
        from url: String?,
        options: FetchableImageOptions = FetchableImageOptions(),
        completion: @escaping @Sendable (_ imageData: Data?) -> Void
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                completion(try await source.fetched(url, options).data)
            } catch is CancellationError {
                return
            } catch {
                completion(source.fallback(options)?.data)
            }
        }
    }

    /// Fetches the images of `urls`, several at once.
    ///
    /// - Parameters:
    ///   - urls: the list; a place without a URL has no image.
    ///   - options: where they are kept.
    ///   - partialFetchHandler: gets each image with its place in the list; `nil` if there is none.
    ///   - completion: called after the last one.
    @discardableResult
    public func fetchBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions(),
        partialFetchHandler: @escaping @Sendable (_ imageData: Data?, _ index: Int) -> Void,
        completion: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        let batch = fetchBatchImages(using: urls, options: options)
        return Task {
            for await fetched in batch { partialFetchHandler(fetched.image?.data, fetched.index) }
            if !Task.isCancelled { completion() }
        }
    }

    /// Removes the image of `url`, or an own image; whether there was one.
    @discardableResult
    public func deleteImage(
        using url: String?,
        options: FetchableImageOptions = FetchableImageOptions(),
        completion: @escaping @Sendable (_ isDeleted: Bool) -> Void
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                completion(try await source.removes(url, options))
            } catch {
                completion(false)
            }
        }
    }

    /// Removes the images of `urls`; how many there were, 0 if they could not be removed.
    @discardableResult
    public func deleteBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions(),
        completion: @escaping @Sendable (_ deletedCount: Int) -> Void
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                completion(try await source.remove(urls, options))
            } catch {
                completion(0)
            }
        }
    }

    /// Removes the own images that have the custom names of `options`; how many there were, 0 if they could not be
    /// removed.
    @discardableResult
    public func deleteBatchImages(
        using options: [FetchableImageOptions],
        completion: @escaping @Sendable (_ deletedCount: Int) -> Void
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                completion(try await source.remove(options))
            } catch {
                completion(0)
            }
        }
    }

    /// Keeps an own image under the custom name of `options`; whether it is stored.
    @discardableResult
    public func save(
        image: Data,
        options: FetchableImageOptions,
        completion: @escaping @Sendable (_ isSaved: Bool) -> Void
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                _ = try await source.save(Array(image), options)
                completion(true)
            } catch {
                completion(false)
            }
        }
    }
}
