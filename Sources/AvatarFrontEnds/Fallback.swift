import AvatarStore

extension ImageSource {
    /// The own image that takes the place of a missing one. That it cannot be had either is no failure of its own: there
    /// is just no image.
    func fallback(_ key: AvatarKey?) -> AvatarImage? {
        guard let key else { return nil }
        do {
            return try stored(key, FetchOptions(policy: .offline)) ?? store.storedAvatar(for: key)
        } catch {
            store.configuration.logger.warning("no fallback image", metadata: ["key": "\(key)", "error": "\(error)"])
            return nil
        }
    }
}
