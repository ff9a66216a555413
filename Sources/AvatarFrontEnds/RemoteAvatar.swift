public import AvatarStore
public import Observation

#if canImport(SwiftUI)
public import SwiftUI
#endif

/// An observable image at a URL. It is in one of three states: loading, loaded or failed.
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
/// Setting another URL cancels the fetch of the old one, and a late result of it is never shown. Releasing the object
/// cancels the fetch too.
@MainActor
@Observable
public final class RemoteAvatar {
    /// The state of a remote avatar.
    public enum State: Sendable {
        /// The image is being loaded, or there is no URL.
        case loading
        /// The image is loaded, or the fallback is shown in its place.
        case image(AvatarImage)
        /// The image could not be loaded, and there is no fallback.
        case failure(AvatarStoreError)
    }

    /// The current state. Views that read it update when it changes.
    public private(set) var state = State.loading
    /// A blurred image as PNG, 32 pixels on its longer side, to show while the image is being loaded. `nil` in the other
    /// states, and for an image without a rendition so far.
    public private(set) var standIn: [UInt8]?
    /// The URL of the image. Setting another URL loads it; setting the same one does nothing.
    public var url: String? {
        didSet { if url != oldValue { load() } }
    }

    @ObservationIgnored private let source: ImageSource
    @ObservationIgnored private let options: FetchOptions
    @ObservationIgnored private let fallback: AvatarKey?
    /// The number of the latest load. Results of earlier loads are discarded.
    @ObservationIgnored private var latest = 0
    /// The running fetch. Replacing it cancels the old one.
    @ObservationIgnored private var running: RunningTask?

    /// The image at `url`. Loading starts immediately.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` to set it later.
    ///   - store: the store that keeps the image.
    ///   - memory: the memory cache in front of the store; `nil` for none. Default: ``MemoryCache/shared``.
    ///   - options: the read policy, storage and limits of the fetch, and the rendition to show.
    ///   - fallback: the key of a stored image to show after a failure. Default: none.
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

    /// Loads the image again after a failure. It does nothing in the other states.
    public func retry() {
        if case .failure = state { load() }
    }

    /// The value that the builder for the current state returns.
    ///
    /// - Parameters:
    ///   - loading: called while the image is being loaded.
    ///   - image: called with the loaded image or the fallback.
    ///   - failure: called with the error.
    /// - Throws: the error of the builder.
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
            standIn = source.standIn(key)
            // Replacing the task cancels the old fetch.
            running = RunningTask(task(key, latest))
        } catch {
            show(outcome(.failure(error)))
        }
    }

    /// Starts the fetch for load `number`.
    private func task(_ key: AvatarKey, _ number: Int) -> Task<Void, Never> {
        Task { [weak self, source, options] in
            guard let result = await source.result(key, options), let self, number == latest else { return }
            show(outcome(result))
        }
    }

    /// The state for a result, with the fallback in place of an error.
    private func outcome(_ result: Result<AvatarImage, AvatarStoreError>) -> State {
        switch result {
        case .success(let image): .image(image)
        case .failure(let error): source.fallback(fallback, as: options.rendition).map { .image($0) } ?? .failure(error)
        }
    }

    /// Shows the final state of a load.
    private func show(_ state: State) {
        self.state = state
        standIn = nil
        running = nil
    }
}

#if canImport(SwiftUI)
/// A SwiftUI view of a ``RemoteAvatar``: one of three views, depending on its state.
public struct RemoteAvatarView<Loading: View, Loaded: View, Failure: View>: View {
    // SwiftUI creates one for each value of the view and keeps only the first, so creating it must not start a load.
    @State private var avatar: RemoteAvatar
    private let url: String?
    private let loading: () -> Loading
    private let image: (AvatarImage) -> Loaded
    private let failure: (AvatarStoreError) -> Failure

    /// A view of the image at `url`, with the shared memory cache.
    ///
    /// - Parameters:
    ///   - url: the URL of the image; `nil` shows the `loading` view.
    ///   - store: the store that keeps the image.
    ///   - fallback: the key of a stored image to show after a failure. Default: none.
    ///   - rendition: the rendition to show in place of the image. Default: `nil`, the original.
    ///   - loading: the view while the image is being loaded.
    ///   - image: the view of the loaded image or the fallback.
    ///   - failure: the view of an error.
    public init(
        url: String?,
        from store: AvatarStore,
        fallback: AvatarKey? = nil,
        rendition: Rendition? = nil,
        @ViewBuilder loading: @escaping () -> Loading,
        @ViewBuilder image: @escaping (AvatarImage) -> Loaded,
        @ViewBuilder failure: @escaping (AvatarStoreError) -> Failure
    ) {
        let options = FetchOptions(rendition: rendition)
        _avatar = State(initialValue: RemoteAvatar(url: nil, from: store, options: options, fallback: fallback))
        (self.url, self.loading, self.image, self.failure) = (url, loading, image, failure)
    }

    /// The view for the current state.
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
