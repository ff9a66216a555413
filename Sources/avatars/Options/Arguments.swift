public import ArgumentParser
public import AvatarContacts
public import AvatarStore

// Values of the library that options take in their own spelling.

extension FetchOptions.Policy: ExpressibleByArgument {}
extension FetchOptions.Storage: ExpressibleByArgument {}
extension StorageClass: ExpressibleByArgument {}
extension AvatarListQuery.Order: ExpressibleByArgument {}
extension ContactList.Format: ExpressibleByArgument {}

// Lists that shells complete from.

extension CompletionKind {
    static let settingName = list(Setting.all.map(\.name))
    static let settingValue = list(["default", "true", "false"])
    static let storageClass = list(StorageClass.allCases.map(\.rawValue))
    static let emailSource = list(["libravatar", "gravatar"])
}

/// Keys as a person names them.
struct KeyArguments {
    /// Those that can be keys, each once.
    private(set) var keys: [AvatarKey] = []
    /// Whether one cannot be a key; that has been said.
    private(set) var hasImpossible = false

    init(_ texts: [String]) {
        var seen: Set<AvatarKey> = []
        for text in texts {
            do {
                let key = try AvatarKey(parsing: text)
                if seen.insert(key).inserted { keys.append(key) }
            } catch {
                hasImpossible = true
                Message.error(error.message)
            }
        }
    }
}

extension AvatarStoreError {
    /// There is no entry for `key`.
    static func unknown(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(.noSuchEntry, "There is no entry \(key).")
    }
}
