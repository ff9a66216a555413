import AvatarStore
public import Foundation

/// The methods of ``FetchableImage`` with completion handlers.
///
/// Each method calls its handler once, on an arbitrary thread. Cancel the returned task to cancel the work; a cancelled
/// fetch does not call its handler.
extension FetchableImage {
    /// Fetches the image at `url`, as ``fetchImage(from:options:)``.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under the custom name of `options`.
    ///   - options: the storage class, the custom name and the fallback.
    ///   - completion: receives the bytes of the image; after a failure those of the fallback, or `nil`.
    /// - Returns: the running task.
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

    /// Fetches the images at `urls` concurrently.
    ///
    /// - Parameters:
    ///   - urls: the URLs. An element without a URL gets the fallback, if there is one.
    ///   - options: the storage class and the fallback. A custom name is ignored.
    ///   - partialFetchHandler: receives the bytes of each image and its index in `urls`; `nil` if there is no image.
    ///   - completion: called after the last image, unless the task is cancelled.
    /// - Returns: the running task.
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

    /// Removes one image, as ``deleteImage(using:options:)``.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` for an image saved under the custom name of `options`.
    ///   - options: the custom name.
    ///   - completion: receives whether the image was stored; false after an error.
    /// - Returns: the running task.
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

    /// Removes the images at `urls`, as ``deleteBatchImages(using:options:)``.
    ///
    /// - Parameters:
    ///   - urls: the URLs of the images.
    ///   - options: whether the store may be used at all.
    ///   - completion: receives the number of images that were stored; 0 after an error.
    /// - Returns: the running task.
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

    /// Removes the images saved under the custom names of `options`, as ``deleteBatchImages(using:)``.
    ///
    /// - Parameters:
    ///   - options: one for each image.
    ///   - completion: receives the number of images that were stored; 0 after an error.
    /// - Returns: the running task.
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

    /// Saves an image under the custom name of `options`, as ``save(image:options:)``.
    ///
    /// - Parameters:
    ///   - image: the bytes of the image file.
    ///   - options: the custom name and the storage class.
    ///   - completion: receives whether the image is stored.
    /// - Returns: the running task.
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
