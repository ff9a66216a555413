#if canImport(SwiftUI)
public import AvatarStore
public import SwiftUI

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
