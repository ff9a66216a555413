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

/// A number of bytes as people write it: `500000`, `500B`, `200kB`, `64MB`, `64MiB`, `2GiB`.
enum ByteAmount {
    private static let units: [String: Int] = [
        "": 1, "B": 1, "kB": 1000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    ]

    /// The bytes that `text` stands for.
    ///
    /// - Throws: `ValidationError` that names the forms.
    static func parse(_ text: String) throws -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let unit = units[String(text[digits.endIndex...])] else {
            throw ValidationError("A byte amount is written 500000, 200kB, 64MB, 64MiB or 2GiB, not \"\(text)\".")
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else { throw ValidationError("\(text) is more than this program can count.") }
        return bytes
    }
}

extension EmailSource {
    /// A source as a person names it: `libravatar`, `gravatar`, or the URL before the digest.
    static func parse(_ text: String) throws -> EmailSource {
        switch text {
        case "libravatar": return .libravatar
        case "gravatar": return .gravatar
        default:
            do {
                return try EmailSource(baseURL: text)
            } catch {
                throw ValidationError("--email-source must be libravatar, gravatar or a URL. \(error.message)")
            }
        }
    }
}
