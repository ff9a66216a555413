public import ArgumentParser
public import AvatarContacts
import AvatarMaintenance
public import AvatarStore

// Values of the library that options accept by their raw values.

extension FetchOptions.Policy: ExpressibleByArgument {}
extension FetchOptions.Storage: ExpressibleByArgument {}
extension StorageClass: ExpressibleByArgument {}
extension AvatarState: ExpressibleByArgument {}
extension Rendition.Format: ExpressibleByArgument {}
extension MirrorOptions.Names: ExpressibleByArgument {}
extension ImportedNames: ExpressibleByArgument {}
extension AvatarListQuery.Order: ExpressibleByArgument {}
extension ContactList.Format: ExpressibleByArgument {}

// Word lists for the completion of shells.

extension CompletionKind {
    /// The names of all settings.
    static let settingName = list(KeptSetting.all.map(\.name))
    /// Values of settings that are words.
    static let settingValue = list(["default", "none", "true", "false"])
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

    /// The error `noSuchEntry` for the id of a contact that no list named. If `id` is a name, it has the ids.
    static func unknownContact(_ id: String, in store: AvatarStore) throws -> AvatarStoreError {
        let advice = try idsOfContacts(named: id, in: store) ?? "`avatars sync` brings contacts in from a list."
        return AvatarStoreError(.noSuchEntry, "The store has no contact \"\(Wording.redacted(id))\". \(advice)")
    }

    /// A sentence with the ids of the contacts with this name; with those of the contacts that a search for it finds, if there are
    /// no others. `nil` without any.
    static func idsOfContacts(named name: String, in store: AvatarStore) throws -> String? {
        let sortName = AvatarStore.sortName(of: name)
        let exact = try store.contacts(beginningWith: name, limit: 5).filter {
            $0.name.map(AvatarStore.sortName) == sortName
        }
        let found = try (exact.isEmpty ? store.contacts(matching: name, limit: 5).contacts : exact)
            .filter { $0.name != nil }.map { contact in
                "\"\(contact.name ?? "")\" has the id \"\(Wording.redacted(contact.id))\""
            }
        guard !found.isEmpty else { return nil }
        return found.joined(separator: ", ") + "; `avatars contacts --name "
            + "\(ShellWord.quoted(Wording.redacted(name)))` searches names."
    }
}

/// A byte amount with an optional unit, as in `500000`, `500B`, `200kB`, `64MB`, `64MiB`, `1.5GB` and `500 mb`.
enum ByteAmount {
    /// The bytes in one of each unit, in lower case; powers of ten for kB to TB, powers of two for KiB to TiB.
    private static let units: [String: Int] = [
        "": 1, "b": 1, "kb": 1000, "mb": 1_000_000, "gb": 1_000_000_000, "tb": 1_000_000_000_000,
        "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
    ]

    /// Parses `text` and returns the amount in bytes.
    ///
    /// - Throws: `ValidationError` if `text` is not a byte amount, or is more than `Int.max` bytes.
    static func parse(_ text: String) throws -> Int {
        let amount = NumberWithUnit(text)
        guard let amount, let unit = units[amount.unit.lowercased()], amount.fraction.isEmpty || unit > 1 else {
            let examples = "a number with an optional unit, such as 500000, 200kB, 64MB, 64MiB, 1.5GB or 2GiB"
            let meant = amount.flatMap { spellings(of: $0) } ?? examples
            throw ValidationError("\"\(text)\" is not a byte amount. Write \(meant).")
        }
        guard let whole = Int(amount.whole), case let (bytes, overflow) = whole.multipliedReportingOverflow(by: unit),
            !overflow, case let (sum, sumOverflow) = bytes.addingReportingOverflow(amount.fractionBytes(of: unit)),
            !sumOverflow
        else {
            throw ValidationError("\"\(text)\" is too large: at most \(Int.max) bytes are possible.")
        }
        return sum
    }

    /// The two spellings that an amount such as `64M` may mean; `nil` for other units.
    private static func spellings(of amount: NumberWithUnit) -> String? {
        let letter = amount.unit.uppercased()
        guard ["K", "M", "G", "T"].contains(letter) else { return nil }
        let decimal = letter == "K" ? "kB" : "\(letter)B"
        return "\(amount.number)\(decimal) (powers of 1000) or \(amount.number)\(letter)iB (powers of 1024)"
    }

    /// Parses a budget for one run, as in `64MB`.
    ///
    /// A small number without a unit is more likely a slip (`64` for `64MB`), and would evict nearly all of the caches.
    ///
    /// - Throws: as `parse(_:)`; `ValidationError` also for such a number. 0 means the same in every unit.
    static func parseBudget(_ text: String) throws -> Int {
        let bytes = try parse(text)
        guard bytes == 0 || bytes >= leastBareBudget || !text.allSatisfy(\.isNumber) else {
            throw ValidationError(
                "The budget \"\(text)\" needs a unit: a number without one means bytes and must be 0 or at least "
                    + "\(leastBareBudget). Add a unit, such as \(text)MB; \(text)B means bytes."
            )
        }
        return bytes
    }

    /// The least budget of a run without a unit, in bytes: less than most images have.
    private static let leastBareBudget = 10_000
}

/// A span of time with an optional unit, as in `90s`, `15m`, `6h`, `7d` and `1.5 h`; a number alone is in seconds.
enum TimeSpan {
    private static let units: [String: Double] = ["": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400]
    private static let spellings = "Write seconds, or a number with a unit, such as 90s, 15m, 6h or 7d."

    /// The seconds that `text` means; `nil` if it is not a span of time.
    static func seconds(_ text: String) -> Double? {
        guard let amount = NumberWithUnit(text), let unit = units[amount.unit.lowercased()] else { return nil }
        return Double(amount.number).map { $0 * unit }
    }

    /// Parses `text` and returns the seconds.
    ///
    /// - Throws: `ValidationError` if `text` is not a span of time.
    static func parseSeconds(_ text: String) throws -> Double {
        guard let seconds = seconds(text) else { throw ValidationError("\"\(text)\" is not a time. \(spellings)") }
        return seconds
    }

    /// - Throws: `ValidationError` unless `text` is a span from a second to a year.
    static func parse(_ text: String) throws -> Duration {
        guard let seconds = seconds(text), (1...31_536_000).contains(seconds) else {
            throw ValidationError("\"\(text)\" is not a time from 1 s to a year. \(spellings)")
        }
        return .seconds(seconds)
    }
}

/// A share in percent, as in `10%` and `2.5`.
enum Share {
    /// Parses `text` and returns the share, from 0 to 1.
    ///
    /// - Throws: `ValidationError` unless `text` is a number from 0 to 100, perhaps with a percent sign.
    static func parse(_ text: String) throws -> Double {
        guard let amount = NumberWithUnit(text), ["", "%"].contains(amount.unit), let percent = Double(amount.number),
            percent <= 100
        else { throw ValidationError("\"\(text)\" is not a share. Write a number from 0% to 100%, such as 10%.") }
        return percent / 100
    }
}

/// A decimal number, perhaps a space, and a unit.
private struct NumberWithUnit {
    /// The digits before the point.
    let whole: Substring
    /// The digits after the point; empty without one.
    let fraction: Substring
    /// The letters; empty without a unit.
    let unit: Substring

    /// - Returns: `nil` if `text` does not begin with a number.
    init?(_ text: String) {
        func digits(_ text: Substring) -> Substring { text.prefix { $0.isASCII && $0.isNumber } }
        whole = digits(text[...])
        guard !whole.isEmpty else { return nil }
        var rest = text[whole.endIndex...]
        if rest.first == "." {
            fraction = digits(rest.dropFirst())
            guard !fraction.isEmpty else { return nil }
            rest = text[fraction.endIndex...]
        } else {
            fraction = ""
        }
        unit = rest.first == " " ? rest.dropFirst() : rest
        guard rest.first != " " || !unit.isEmpty else { return nil }
    }

    /// The number without the unit.
    var number: String { fraction.isEmpty ? String(whole) : "\(whole).\(fraction)" }

    /// The bytes of the digits after the point, rounded down.
    func fractionBytes(of unit: Int) -> Int {
        // Fifteen digits are exact in a double, and finer than a byte of any unit.
        Int((Double("0.\(fraction.prefix(15))") ?? 0) * Double(unit))
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
