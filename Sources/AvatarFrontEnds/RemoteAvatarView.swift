#if canImport(SwiftUI)
public import AvatarStore
public import SwiftUI

/// A ``RemoteAvatar`` on the screen.
public struct RemoteAvatarView<Content: View>: View {
    @State private var avatar: RemoteAvatar
    private let url: String?
    private let content: (RemoteAvatar) -> Content

    /// The image at `url`, shown by `content`, which asks the avatar for `content(loading:image:failure:)`.
    public init(url: String?, from store: AvatarStore, @ViewBuilder content: @escaping (RemoteAvatar) -> Content) {
        _avatar = State(initialValue: RemoteAvatar(url: url, from: store))
        self.url = url
        self.content = content
    }

    /// The picture, or what takes its place.
    public var body: some View {
        content(avatar).onChange(of: url) { avatar.url = url }
    }
}
#endif
