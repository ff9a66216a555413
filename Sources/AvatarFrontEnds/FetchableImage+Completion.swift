public import AvatarStore
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The methods of ``FetchableImage`` with completion handlers.
///
/// Each method calls its handler once, on an arbitrary thread, with the result of the method without a handler, or with its
/// error. Cancel the returned task to cancel the work; a cancelled fetch does not call its handler.
extension FetchableImage {
    /// Fetches the image at `url`, as ``fetchImage(from:options:)``, and gives the fallback after a failure.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under the custom name of `options`.
    ///   - options: the storage class, the custom name and the fallback.
    ///   - completion: receives the image, or the error as ``fetchImage(from:options:)`` throws it. After a failure it
    ///     receives the fallback if there is one: an image whose `failure` and `failureMessage` tell what failed.
    /// - Returns: the running task.
    @discardableResult
    public func fetchImage(
        from url: String?,
        options: FetchableImageOptions = FetchableImageOptions(),
        completion: @escaping @Sendable (_ result: Result<AvatarImage, AvatarStoreError>) -> Void
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                completion(.success(try await source.fetched(url, options)))
            } catch is CancellationError {
                return
            } catch {
                completion(source.result(after: AvatarStoreError(of: error), options))
            }
        }
    }

    /// Fetches the images at `urls` concurrently.
    ///
    /// - Parameters:
    ///   - urls: the URLs. An element without a URL gets the fallback, if there is one.
    ///   - options: the storage class and the fallback. A custom name is ignored.
    ///   - partialFetchHandler: receives the result for each element of `urls`, with its index.
    ///   - completion: called after the last image, unless the task is cancelled.
    /// - Returns: the running task.
    @discardableResult
    public func fetchBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions(),
        partialFetchHandler: @escaping @Sendable (_ fetched: FetchedImage) -> Void,
        completion: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        let batch = fetchBatchImages(using: urls, options: options)
        return Task {
            for await fetched in batch { partialFetchHandler(fetched) }
            if !Task.isCancelled { completion() }
        }
    }

    /// Removes one image, as ``deleteImage(using:options:)``.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under the custom name of `options`.
    ///   - options: the custom name.
    ///   - completion: receives whether the image was stored, or the error.
    /// - Returns: the running task.
    @discardableResult
    public func deleteImage(
        using url: String?,
        options: FetchableImageOptions = FetchableImageOptions(),
        completion: @escaping @Sendable (_ isDeleted: Result<Bool, AvatarStoreError>) -> Void
    ) -> Task<Void, Never> {
        running(completion) { try await $0.removes(url, options) }
    }

    /// Removes the images at `urls`, as ``deleteBatchImages(using:options:)``.
    ///
    /// - Parameters:
    ///   - urls: the URLs of the images.
    ///   - options: whether the store may be used at all.
    ///   - completion: receives the number of images that were stored, or the error.
    /// - Returns: the running task.
    @discardableResult
    public func deleteBatchImages(
        using urls: [String?],
        options: FetchableImageOptions = FetchableImageOptions(),
        completion: @escaping @Sendable (_ deletedCount: Result<Int, AvatarStoreError>) -> Void
    ) -> Task<Void, Never> {
        running(completion) { try await $0.remove(urls, options) }
    }

    /// Removes the images saved under the custom names of `options`, as ``deleteBatchImages(using:)``.
    ///
    /// - Parameters:
    ///   - options: one for each image.
    ///   - completion: receives the number of images that were stored, or the error.
    /// - Returns: the running task.
    @discardableResult
    public func deleteBatchImages(
        using options: [FetchableImageOptions],
        completion: @escaping @Sendable (_ deletedCount: Result<Int, AvatarStoreError>) -> Void
    ) -> Task<Void, Never> {
        running(completion) { try await $0.remove(options) }
    }

    /// Saves an image under the custom name of `options`, as ``save(image:options:)``.
    ///
    /// - Parameters:
    ///   - image: the bytes of the image file.
    ///   - options: the custom name and the storage class.
    ///   - completion: receives the key of the image, or the error.
    /// - Returns: the running task.
    @discardableResult
    public func save(
        image: Data,
        options: FetchableImageOptions,
        completion: @escaping @Sendable (_ key: Result<AvatarKey, AvatarStoreError>) -> Void
    ) -> Task<Void, Never> {
        running(completion) { try await $0.save(Array(image), options) }
    }

    /// Runs `work` on the source, and gives its result or its error to `completion`.
    private func running<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, AvatarStoreError>) -> Void,
        _ work: @escaping @Sendable (ImageSource) async throws -> Value
    ) -> Task<Void, Never> {
        let source = source
        return Task {
            do {
                completion(.success(try await work(source)))
            } catch {
                completion(.failure(AvatarStoreError(of: error)))
            }
        }
    }
}
