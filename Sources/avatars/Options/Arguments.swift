public import ArgumentParser
public import AvatarContacts
public import AvatarStore

// Values of the library that options accept by their raw values.

extension FetchOptions.Policy: ExpressibleByArgument {}
extension FetchOptions.Storage: ExpressibleByArgument {}
extension StorageClass: ExpressibleByArgument {}
extension AvatarState: ExpressibleByArgument {}
extension Rendition.Format: ExpressibleByArgument {}
extension MirrorOptions.Names: ExpressibleByArgument {}
extension AvatarListQuery.Order: ExpressibleByArgument {}
extension ContactList.Format: ExpressibleByArgument {}

// Word lists for the completion of shells.

extension CompletionKind {
    /// The names of all settings.
    static let settingName = list(KeptSetting.all.map(\.name))
    /// Values of settings that are words.
    static let settingValue = list(["default", "true", "false"])
    /// The two storage classes on disk, without `transient`.
    static let storageClass = list(StorageClass.allCases.map(\.rawValue))
    /// The e-mail sources with a name of their own.
    static let emailSource = list(["libravatar", "gravatar"])
}

/// The KEY arguments of a command: URLs, `name:NAME`, `contact:ID` or a caller's own keys.
struct KeyArguments {
    /// The valid keys, in the order of the arguments, without duplicates.
    private(set) var keys: [AvatarKey] = []
    /// Whether an argument is not a valid key. An error was printed for each of them.
    private(set) var hasInvalid = false

    /// Parses `texts` and prints an error for each that is not a valid key.
    init(_ texts: [String]) {
        var seen: Set<AvatarKey> = []
        for text in texts {
            do {
                let key = try AvatarKey(parsing: text)
                if seen.insert(key).inserted { keys.append(key) }
            } catch {
                hasInvalid = true
                Message.error(error.message)
            }
        }
    }
}

extension AvatarStoreError {
    /// The error `noSuchEntry` for `key`.
    static func unknown(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(.noSuchEntry, "The store has no entry \"\(key)\".")
    }
}

/// A byte amount with an optional unit, as in `500000`, `500B`, `200kB`, `64MB`, `64MiB` and `2GiB`.
///
/// Units are case-sensitive; fractions and spaces are not accepted.
enum ByteAmount {
    /// The bytes in one of each unit; powers of ten for kB to TB, powers of two for KiB to TiB.
    private static let units: [String: Int] = [
        "": 1, "B": 1, "kB": 1000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    ]

    /// Parses `text` and returns the amount in bytes.
    ///
    /// - Throws: `ValidationError` if `text` is not a byte amount, or is more than `Int.max` bytes.
    static func parse(_ text: String) throws -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let unit = units[String(text[digits.endIndex...])] else {
            throw ValidationError(
                "\"\(text)\" is not a byte amount. Write a whole number with an optional unit, such as 500000, 200kB, 64MB, "
                    + "64MiB or 2GiB."
            )
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else {
            throw ValidationError("\"\(text)\" is too large: at most \(Int.max) bytes are possible.")
        }
        return bytes
    }
}

extension EmailSource {
    /// Parses the value of `--email-source`: `libravatar`, `gravatar`, or the base URL to which the digest is appended.
    ///
    /// - Throws: `ValidationError` if `text` is not one of them. The message never holds a password from the URL.
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
