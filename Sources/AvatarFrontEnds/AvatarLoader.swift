public import AvatarStore
public import Observation
import Synchronization

/// Loads one image, and can be watched while it does.
///
/// ```swift
/// let loader = AvatarLoader(url: contact.avatarURL, from: store)
/// loader.fetch()
/// // loader.isLoading, loader.progress, loader.preview, loader.image, loader.error
/// ```
///
/// Letting go of it cancels the fetch, unless somebody else waits for the same image.
@MainActor
@Observable
public final class AvatarLoader {
    /// The image, once it is there; the fallback, if it could not be had.
    public private(set) var image: AvatarImage?
    /// Why it could not be had. Cleared when it is fetched again.
    public private(set) var error: AvatarStoreError?
    /// Whether it is being fetched.
    public private(set) var isLoading = false
    /// How far the download has come; `nil` before its first bytes, and for an image that was stored.
    public private(set) var progress: FetchProgress?
    /// The beginning of the image that arrives, if a decoder can draw a coarse picture of the whole from it: of a
    /// progressive JPEG, or an interlaced PNG or GIF. `nil` once the image is there.
    public private(set) var preview: [UInt8]?
    /// How urgently it is wanted. A change holds at once, also for a fetch that waits for a connection.
    public var priority: FetchPriority {
        didSet { watch?.priority = priority }
    }

    /// Where the image is.
    public let regularURL: String
    /// Where a smaller one is, for a network on which bytes are dear.
    public let lowDataURL: String?

    @ObservationIgnored private let source: ImageSource
    @ObservationIgnored private let options: FetchOptions
    @ObservationIgnored private let fallback: AvatarKey?
    @ObservationIgnored private let wantsPreviews: Bool
    @ObservationIgnored private let isConstrained: (@Sendable () -> Bool)?
    @ObservationIgnored private var watch: FetchWatch?
    @ObservationIgnored private var isDone = false
    /// The number of the latest attempt; only that one shows what came of it.
    @ObservationIgnored private var latest = 0
    @ObservationIgnored private var running: [RunningTask] = []

    /// A loader of the image at `regularURL`.
    ///
    /// - Parameters:
    ///   - regularURL: where the image is.
    ///   - lowDataURL: where a smaller image is, which is fetched while bytes are dear and the regular one is not stored.
    ///     The regular one takes its place when it is asked for later on.
    ///   - store: the store it comes from.
    ///   - memory: the images in memory in front of it. Default: the shared ones.
    ///   - options: how it is fetched, and with which priority at first.
    ///   - fallback: an own image of the store for ``image`` if it cannot be had.
    ///   - startsAtOnce: whether it is fetched without being told. Default: no.
    ///   - wantsPreviews: whether previews are made. Default: yes.
    ///   - isConstrained: whether bytes are dear now, such as `NWPath.isConstrained`. Default: what the store says.
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
        self.fallback = fallback
        self.wantsPreviews = wantsPreviews
        self.isConstrained = isConstrained
        if startsAtOnce { fetch() }
    }

    /// A loader of the image at `url`, with the defaults.
    public convenience init(url: String, from store: AvatarStore, startsAtOnce: Bool = false) {
        self.init(regularURL: url, from: store, startsAtOnce: startsAtOnce)
    }

    /// Fetches the image; does nothing if it is there or being fetched. A download that was cancelled goes on where it
    /// stopped, if the origin allows.
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

    /// Stops a fetch that is under way. What has come is kept for the next one, if the origin can go on from there.
    public func cancel() {
        latest += 1
        isLoading = false
        running = []
        watch = nil
    }

    private func begin(_ key: AvatarKey, _ options: FetchOptions) {
        isLoading = true
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
        running = []
        switch result {
        case .success(let image):
            isDone = true
            self.image = image
        case .failure(let error):
            image = source.fallback(fallback)
            self.error = error
        }
    }
}

/// Carries what is known of a fetch from where it runs to the loader: always the latest, never a queue of it.
private final class LoadFeed: Sendable {
    struct Update: Sendable {
        var progress = FetchProgress()
        var preview: [UInt8]?
    }

    private struct State {
        var update = Update()
        var scanner: PreviewScanner?
    }

    private let state: Mutex<State>
    /// One element whenever there is something new.
    let news: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init(wantsPreviews: Bool) {
        state = Mutex(State(scanner: wantsPreviews ? PreviewScanner() : nil))
        (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The latest.
    var update: Update { state.withLock { $0.update } }

    /// More has come.
    func report(_ progress: FetchProgress, _ arrived: any ByteSource) {
        state.withLock { state in
            state.update.progress = progress
            do {
                guard let length = try state.scanner?.advance(arrived, total: progress.totalBytes) else { return }
                state.update.preview = try arrived.bytes(at: 0, count: length)
            } catch {
                // A picture that cannot be read while it arrives has no previews; the fetch tells what is wrong.
                state.scanner = nil
            }
        }
        continuation.yield()
    }

    /// Nothing more will come.
    func finish() {
        continuation.finish()
    }
}
