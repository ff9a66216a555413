public import AvatarStore
public import Observation

#if canImport(SwiftUI)
public import SwiftUI
#endif

/// The image at a URL, as something to observe: it is being loaded, there, or could not be had.
///
/// ```swift
/// let avatar = RemoteAvatar(url: "https://example.org/ada.png", from: store)
/// let label = avatar.content {
///     "Loading"
/// } image: { image in
///     "\(image.width) by \(image.height) pixels"
/// } failure: { error in
///     error.message
/// }
/// ```
///
/// Switching the URL gives up the old fetch; whatever still comes of it is not shown. Letting go of it does the same.
@MainActor
@Observable
public final class RemoteAvatar {
    /// What there is to show.
    public enum State: Sendable {
        /// Nothing yet, or no URL.
        case loading
        /// The image.
        case image(AvatarImage)
        /// Why there is none.
        case failure(AvatarStoreError)
    }

    /// What there is to show now.
    public private(set) var state = State.loading
    /// Where the image is. Setting another one loads that; setting the same one does nothing.
    public var url: String? {
        didSet { if url != oldValue { load() } }
    }

    @ObservationIgnored private let source: ImageSource
    @ObservationIgnored private let options: FetchOptions
    @ObservationIgnored private let fallback: AvatarKey?
    /// The number of the latest load; only that one shows what came of it.
    @ObservationIgnored private var latest = 0
    @ObservationIgnored private var running: RunningTask?

    /// The image at `url`; it is loaded at once.
    ///
    /// - Parameters:
    ///   - url: where the image is; `nil`: there is none yet.
    ///   - store: the store it comes from.
    ///   - memory: the images in memory in front of it. Default: the shared ones.
    ///   - options: how it is fetched.
    ///   - fallback: an own image of the store to show if it cannot be had.
    public init(
        url: String?,
        from store: AvatarStore,
        memory: MemoryCache? = .shared,
        options: FetchOptions = FetchOptions(),
        fallback: AvatarKey? = nil
    ) {
        self.url = url
        source = ImageSource(store: store, memory: memory)
        self.options = options
        self.fallback = fallback
        load()
    }

    /// Loads the image once more, if it could not be had.
    public func retry() {
        if case .failure = state { load() }
    }

    /// What one of the three builders makes of the state.
    public func content<Content>(
        loading: () throws -> Content,
        image: (AvatarImage) throws -> Content,
        failure: (AvatarStoreError) throws -> Content
    ) rethrows -> Content {
        switch state {
        case .loading: try loading()
        case .image(let loaded): try image(loaded)
        case .failure(let error): try failure(error)
        }
    }

    private func load() {
        latest += 1
        guard let url else { return show(.loading) }
        do throws(AvatarStoreError) {
            let key = try AvatarKey(url: url)
            if let image = try source.stored(key, options) { return show(.image(image)) }
            state = .loading
            // The old fetch is given up with its task.
            running = RunningTask(task(key, latest))
        } catch {
            show(outcome(.failure(error)))
        }
    }

    private func task(_ key: AvatarKey, _ number: Int) -> Task<Void, Never> {
        Task { [weak self, source, options] in
            guard let result = await source.result(key, options), let self, number == latest else { return }
            show(outcome(result))
        }
    }

    private func outcome(_ result: Result<AvatarImage, AvatarStoreError>) -> State {
        switch result {
        case .success(let image): .image(image)
        case .failure(let error): source.fallback(fallback).map { .image($0) } ?? .failure(error)
        }
    }

    /// The end of a load.
    private func show(_ state: State) {
        self.state = state
        running = nil
    }
}

#if canImport(SwiftUI)
/// A ``RemoteAvatar`` on the screen: one of three views.
public struct RemoteAvatarView<Loading: View, Picture: View, Failure: View>: View {
    // Made anew with each value of the view and kept only once, so it must not load anything yet.
    @State private var avatar: RemoteAvatar
    private let url: String?
    private let loading: () -> Loading
    private let image: (AvatarImage) -> Picture
    private let failure: (AvatarStoreError) -> Failure

    /// The image at `url`, or what takes its place.
    public init(
        url: String?,
        from store: AvatarStore,
        fallback: AvatarKey? = nil,
        @ViewBuilder loading: @escaping () -> Loading,
        @ViewBuilder image: @escaping (AvatarImage) -> Picture,
        @ViewBuilder failure: @escaping (AvatarStoreError) -> Failure
    ) {
        _avatar = State(initialValue: RemoteAvatar(url: nil, from: store, fallback: fallback))
        self.url = url
        self.loading = loading
        self.image = image
        self.failure = failure
    }

    /// The picture, or what takes its place.
    public var body: some View {
        Group {
            switch avatar.state {
            case .loading: loading()
            case .image(let loaded): image(loaded)
            case .failure(let error): failure(error)
            }
        }
        .onChange(of: url, initial: true) { avatar.url = url }
    }
}
#endif
