package import AvatarCore

extension AvatarStoreError {
    /// `error` itself, if it is one of the store; else what a reader is told of it.
    package init(of error: any Error) {
        self =
            error as? AvatarStoreError
            ?? AvatarStoreError(.storage, "The image could not be had (\(type(of: error))).", underlying: error)
    }

    /// What `work` gives or throws, as an error of the store.
    package static func typed<Value>(_ work: () throws -> Value) throws(AvatarStoreError) -> Value {
        do {
            return try work()
        } catch {
            throw AvatarStoreError(of: error)
        }
    }
}
