import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// A setting that `avatars config` prints and changes: a number or a text.
enum KeptSetting {
    case number(Setting)
    case text(TextSetting)

    /// All settings, in the order of the output.
    static let all = Setting.all.map(KeptSetting.number) + TextSetting.all.map(KeptSetting.text)

    /// The setting with the given name; `nil` for an unknown one.
    init?(named name: String) {
        guard let setting = Self.all.first(where: { $0.name == name }) else { return nil }
        self = setting
    }

    /// The name, as in `low-watermark`.
    var name: String {
        switch self {
        case .number(let setting): setting.name
        case .text(let setting): setting.name
        }
    }

    /// The name in JSON, as in `lowWatermark`.
    var camelCaseName: String {
        let words = name.split(separator: "-")
        return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// A value that a store can keep for a setting.
    enum Value {
        case number(Setting, Int64)
        case text(TextSetting, String)
    }

    /// Parses a value of this setting. A relative path becomes an absolute one.
    ///
    /// - Throws: `ValidationError` if the value is malformed or out of range.
    func parse(_ text: String) throws -> Value {
        switch self {
        case .number(let setting): return .number(setting, try setting.parse(text))
        case .text(.trustRootsFile):
            guard !text.isEmpty else { throw ValidationError("\(name) must be the path of a file.") }
            return .text(.trustRootsFile, StoreLocation.absolute(text))
        case .text(.volatileQuery):
            // Without the limits of the store, which only the change can check.
            if Self.hostWithoutQuery(text) == nil {
                do {
                    return .text(.volatileQuery, try VolatileQuery(parsing: text).description)
                } catch {
                    throw ValidationError(error.message)
                }
            }
            return .text(.volatileQuery, text)
        case .text(let setting):
            guard HeaderFile.isFieldValue(text), !text.isEmpty else {
                throw ValidationError("\(name) must be one line of printable ASCII.")
            }
            return .text(setting, text)
        }
    }

    /// The host of `HOST none`, which takes the volatile parameters of one host away; `nil` for another value.
    static func hostWithoutQuery(_ text: String) -> String? {
        let words = text.split(separator: " ")
        return words.count == 2 && words[1] == "none" ? words[0].lowercased() : nil
    }

    /// The value in force as `--json` prints it; `null` without a value.
    func json(in store: AvatarStore) throws -> JSON {
        switch self {
        case .number(let setting): setting.json(try store.value(of: setting))
        case .text(.volatileQuery): .array(try store.volatileQueries().map { JSON($0.description) })
        case .text(let setting): try store.value(of: setting).map { JSON($0) } ?? .null
        }
    }

    /// The value in force, for people.
    func text(in store: AvatarStore) throws -> String {
        switch self {
        case .number(let setting): setting.text(try store.value(of: setting))
        case .text(.volatileQuery):
            try store.volatileQueries().map { "\"\($0)\"" }.joined(separator: "; ").nilIfEmpty ?? defaultText
        case .text(let setting): try store.value(of: setting) ?? defaultText
        }
    }

    /// The default, for people.
    var defaultText: String {
        switch self {
        case .number(.lowWatermark): "90 % of budget"
        case .number(.renditionBudget): "10 % of budget"
        case .number(let setting): setting.text(setting.defaultValue)
        case .text(.userAgent): "AvatarStore"
        case .text: "none"
        }
    }

    /// The use of the setting, as the end of a row.
    var meaning: String {
        switch name {
        case "budget": "the limit for files in caches"
        case "low-watermark": "evictions stop at this size"
        case "rendition-budget": "the part of the budget for renditions"
        case "max-image-bytes": "the largest image in bytes"
        case "max-pixels": "the largest image in pixels"
        case "min-free": "the free disk space to keep"
        case "minimum-freshness": "an image is fresh at least this long"
        case "maximum-freshness": "an image is fresh at most this long"
        case "default-freshness": "the time an image is fresh if its host states none"
        case "max-age-without-fetch": "the age after which an image is fetched in full"
        case "keep-unowned": "whether to keep images that no contact uses"
        case "keep-names": "whether to keep names of contacts"
        case "allow-svg": "whether to accept SVG, which may hold scripts"
        case "keep-addresses": "whether to keep digests of e-mail addresses"
        case "gone-confirmations": "responses 404 or 410 before the file is deleted; 0: never"
        case "connections": "the most requests at once"
        case "serve-metadata": "whether images leave the store with their metadata"
        case "per-host": "the most requests at once to one host; 0: as many as it bears"
        case "allow-private-network": "whether to contact loopback and private addresses"
        case "user-agent": "the User-Agent field of requests"
        case "volatile-query": "query parameters that are no part of a key, by host"
        case "ca-file": "certificates to trust in addition to the system's"
        default: ""
        }
    }
}

extension String {
    fileprivate var nilIfEmpty: String? { isEmpty ? nil : self }
}
