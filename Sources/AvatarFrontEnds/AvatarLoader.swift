import AvatarFoundation
public import AvatarStore
public import Observation

/// An observable download of one image: it reports progress and previews, and can be cancelled and resumed.
///
/// ```swift
/// let loader = AvatarLoader(url: contact.avatarURL, from: store)
/// loader.fetch()
/// // loader.isLoading, loader.progress, loader.preview, loader.image, loader.error
/// ```
///
/// Releasing the loader cancels the fetch, unless another reader waits for the same image.
@MainActor
@Observable
public final class AvatarLoader {
    /// The image once it is loaded. After a failure the fallback, if there is one; else `nil`.
    public private(set) var image: AvatarImage?
    /// The error of the last attempt. The next ``fetch()`` resets it to `nil`.
    public private(set) var error: AvatarStoreError?
    /// Whether a fetch is running.
    public private(set) var isLoading = false
    /// The bytes received so far and the total. `nil` before the first bytes, and for an image that was already stored.
    public private(set) var progress: FetchProgress?
    /// The first bytes of the arriving file, from which a decoder can draw a coarse version of the whole image. Only
    /// progressive JPEG and interlaced PNG and GIF have previews. `nil` once the image is loaded.
    public private(set) var preview: [UInt8]?
    /// A blurred image as PNG, 32 pixels on its longer side, to show below a ``preview`` during the fetch. `nil` after the
    /// fetch, and for an image without a rendition so far.
    public private(set) var standIn: [UInt8]?
    /// The priority of the fetch. A change takes effect at once, even while the fetch waits for a connection.
    public var priority: FetchPriority {
        didSet { watch?.priority = priority }
    }

    /// The URL of the image.
    public let regularURL: String
    /// The URL of a smaller image for metered networks.
    public let lowDataURL: String?

    @ObservationIgnored private let source: ImageSource
    @ObservationIgnored private let options: FetchOptions
    @ObservationIgnored private let fallback: AvatarKey?
    @ObservationIgnored private let wantsPreviews: Bool
    @ObservationIgnored private let isConstrained: (@Sendable () -> Bool)?
    @ObservationIgnored private var watch: FetchWatch?
    /// Whether the image is loaded, so that ``fetch()`` has nothing to do.
    @ObservationIgnored private var isDone = false
    /// The number of the latest attempt. Results of earlier attempts are discarded.
    @ObservationIgnored private var latest = 0
    /// The running fetch and the task that reports its progress. Clearing the list cancels both.
    @ObservationIgnored private var running: [RunningTask] = []

    /// A loader of the image at `regularURL`. It does nothing before ``fetch()``, unless `startsAtOnce` is true.
    ///
    /// - Parameters:
    ///   - regularURL: the URL of the image.
    ///   - lowDataURL: the URL of a smaller image. On a metered network it is fetched instead, while the regular image
    ///     is not stored. A later read on an unmetered network replaces it with the regular image.
    ///   - store: the store that keeps the image.
    ///   - memory: the memory cache in front of the store; `nil` for none. Default: ``MemoryCache/shared``.
    ///   - options: the read policy, storage and limits of the fetch, its initial priority, and the rendition to load.
    ///   - fallback: the key of a stored image to show in ``image`` after a failure. Default: none.
    ///   - startsAtOnce: whether to call ``fetch()`` immediately. Default: false.
    ///   - wantsPreviews: whether to produce previews. Default: true.
    ///   - isConstrained: whether the network is metered, for example `NWPath.isConstrained`. Called at each fetch.
    ///     Default: the store's configuration.
    public init(
        regularURL: String,
        lowDataURL: String? = nil,
        from store: AvatarStore,
        memory: MemoryCache? = .shared,
        options: FetchOptions = FetchOptions(),
        fallback: AvatarKey? = nil,
        startsAtOnce: Bool = false,
        wantsPreviews: Bool = true,
        isConstrained: (@Sendable () -> Bool)? = nil
    ) {
        self.regularURL = regularURL
        self.lowDataURL = lowDataURL
        source = ImageSource(store: store, memory: memory)
        self.options = options
        priority = options.priority
        (self.fallback, self.wantsPreviews) = (fallback, wantsPreviews)
        self.isConstrained = isConstrained
        if startsAtOnce { fetch() }
    }

    /// A loader of the image at `url` with the default options and the shared memory cache.
    public convenience init(url: String, from store: AvatarStore, startsAtOnce: Bool = false) {
        self.init(regularURL: url, from: store, startsAtOnce: startsAtOnce)
    }

    /// Starts the fetch. It does nothing if the image is loaded or a fetch is running.
    ///
    /// A cancelled download resumes where it stopped if the host sent a strong ETag and supports ranges. Errors are
    /// reported in ``error``.
    public func fetch() {
        guard !isDone, !isLoading else { return }
        error = nil
        latest += 1
        do throws(AvatarStoreError) {
            let key = try AvatarKey(url: regularURL)
            var options = options
            options.lowDataURL = lowDataURL
            options.isConstrained = isConstrained?()
            if let image = try source.stored(key, options) { return finish(.success(image)) }
            begin(key, options)
        } catch {
            finish(.failure(error))
        }
    }

    /// Cancels the running fetch. The store keeps the bytes received so far if the host can resume the download.
    public func cancel() {
        latest += 1
        isLoading = false
        running = []
        watch = nil
    }

    private func begin(_ key: AvatarKey, _ options: FetchOptions) {
        isLoading = true
        standIn = source.standIn(key)
        let number = latest
        let feed = LoadFeed(wantsPreviews: wantsPreviews)
        let watch = FetchWatch(priority: priority, report: feed.report)
        self.watch = watch
        var options = options
        options.watch = watch
        running = [
            RunningTask(
                Task { [weak self, source, options] in
                    let result = await source.result(key, options)
                    feed.finish()
                    guard let result, let self, latest == number else { return }
                    show(feed.update)
                    finish(result)
                }
            ),
            RunningTask(
                Task { [weak self] in
                    for await _ in feed.news {
                        guard let self, latest == number, isLoading else { return }
                        show(feed.update)
                    }
                }
            ),
        ]
    }

    private func show(_ update: LoadFeed.Update) {
        if update.progress.completedBytes > 0 { progress = update.progress }
        if let preview = update.preview { self.preview = preview }
    }

    private func finish(_ result: Result<AvatarImage, AvatarStoreError>) {
        isLoading = false
        watch = nil
        preview = nil
        standIn = nil
        running = []
        switch result {
        case .success(let image):
            isDone = true
            self.image = image
        case .failure(let error):
            image = source.fallback(fallback, as: options.rendition)
            self.error = error
        }
    }
}

/// Carries the progress of a fetch from the task that runs it to the loader on the main actor. It holds only the latest
/// state, so a slow main actor builds up no queue.
private final class LoadFeed: Sendable {
    /// The latest state of the fetch.
    struct Update: Sendable {
        var progress = FetchProgress()
        var preview: [UInt8]?
    }

    private struct State {
        var update = Update()
        /// `nil` if no previews are wanted or possible.
        var scanner: PreviewScanner?
    }

    private let state: Locked<State>
    /// Signals a new update. Signals that the loader has not yet consumed merge into one.
    let news: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init(wantsPreviews: Bool) {
        state = Locked(State(scanner: wantsPreviews ? PreviewScanner() : nil))
        (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The latest update.
    var update: Update { state.withLock { $0.update } }

    /// Records that more bytes have arrived, and looks for a new preview among them.
    func report(_ progress: FetchProgress, _ arrived: any ByteSource) {
        state.withLock { state in
            state.update.progress = progress
            do {
                guard let length = try state.scanner?.advance(arrived, total: progress.totalBytes) else { return }
                state.update.preview = try arrived.bytes(at: 0, count: length)
            } catch {
                // Previews are optional; the fetch itself reports the error.
                state.scanner = nil
            }
        }
        continuation.yield()
    }

    /// Ends the stream of signals.
    func finish() {
        continuation.finish()
    }
}
