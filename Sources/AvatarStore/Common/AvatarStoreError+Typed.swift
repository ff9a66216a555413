package import AvatarCore

extension AvatarStoreError {
    /// `error` itself if it is an error of the store; else `storage` with `error` as its underlying error.
    package init(of error: any Error) {
        self =
            error as? AvatarStoreError
            ?? AvatarStoreError(.storage, "The image could not be read (\(type(of: error))).", underlying: error)
    }

    /// The result of `work`.
    ///
    /// - Throws: the error of `work` as an `AvatarStoreError`, as `init(of:)` makes it.
    package static func typed<Value>(_ work: () throws -> Value) throws(AvatarStoreError) -> Value {
        do {
            return try work()
        } catch {
            throw AvatarStoreError(of: error)
        }
    }
}
