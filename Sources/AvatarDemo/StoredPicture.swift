import AvatarStore

/// An image as the store has it now.
struct StoredPicture: Equatable {
    let bytes: [UInt8]
    let sha256: String

    /// What is stored for `url`; no request is sent.
    ///
    /// - Throws: `noSuchEntry` if nothing is.
    init(_ url: String, in store: AvatarStore) throws {
        guard let image = try store.storedAvatar(for: url), let digest = try store.details(for: image.key)?.sha256
        else {
            throw AvatarStoreError(.noSuchEntry, "There is no stored image for \(AvatarKey.redact(url)).")
        }
        bytes = image.bytes
        sha256 = digest
    }
}
