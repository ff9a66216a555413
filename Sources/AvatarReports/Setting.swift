package import AvatarCore

/// A setting of a store. Its value is kept in the index and holds for all processes that use the store.
///
/// Each setting states its meaning, unit and default. `AvatarStore.set(_:to:dryRun:)` changes one, `AvatarStore.value(of:)` reads
/// it. Work in progress keeps the values that it read when it began; only a lowered budget
/// applies to it at once.
public struct Setting: Hashable, Sendable {
    /// The name, as the index and the command line spell it.
    public let name: String
    /// The value that applies until another is set, in `unit`; `nil`: no limit, or one derived from another setting.
    package let defaultValue: Int64?
    /// The values that are accepted, in `unit`.
    package let range: ClosedRange<Int64>
    /// The unit of the value.
    package let unit: Unit

    /// The unit of a setting's value.
    package enum Unit: String, Sendable {
        /// Bytes.
        case bytes
        /// Pixels: width times height.
        case pixels
        /// Seconds.
        case seconds
        /// 0 for no, 1 for yes.
        case boolean
        /// A plain number.
        case count
    }

    private init(_ name: String, default defaultValue: Int64?, in range: ClosedRange<Int64>, _ unit: Unit) {
        (self.name, self.defaultValue, self.range, self.unit) = (name, defaultValue, range, unit)
    }

    /// 0 bytes to 1 PiB.
    private static let anySize: ClosedRange<Int64> = 0...(1 << 50)
    /// 0 seconds to 100 years.
    private static let anyTime: ClosedRange<Int64> = 0...(100 * 366 * 86_400)

    // MARK: Room

    /// The byte budget (high watermark) of the storage class `caches`. It is never exceeded. Default: 256 MiB
    /// (268,435,456 bytes).
    public static let budget = Setting("budget", default: 256 << 20, in: anySize, .bytes)
    /// The low watermark, in bytes: an eviction stops here. It is never above the budget. Default: 90 % of the budget.
    public static let lowWatermark = Setting("low-watermark", default: nil, in: anySize, .bytes)
    /// The part of the budget that renditions may use, in bytes. They are evicted before any image, and making one evicts only
    /// other renditions. 0: none is stored. It is never above the budget. Default: 10 % of the budget.
    public static let renditionBudget = Setting("rendition-budget", default: nil, in: anySize, .bytes)
    /// The free bytes on the disk below which no new image is stored. Default: 0, no check.
    public static let minimumFree = Setting("min-free", default: 0, in: anySize, .bytes)

    // MARK: One image

    /// The most bytes of one image. Default: 20 MiB (20,971,520 bytes).
    public static let maximumImageBytes = Setting("max-image-bytes", default: 20 << 20, in: 1...(1 << 40), .bytes)
    /// The most pixels of one image, width times height. Default: 50 million.
    public static let maximumPixels = Setting("max-pixels", default: 50_000_000, in: 1...(1 << 40), .pixels)

    /// Whether SVG is accepted as an image; it can hold scripts. `Configuration.allowsSVG` accepts it for one process. Default: 0,
    /// no.
    public static let allowsSVG = Setting("allow-svg", default: 0, in: 0...1, .boolean)

    // MARK: Freshness

    /// The shortest freshness lifetime of a response, in seconds; at most `maximumFreshness`. Default: 0.
    public static let minimumFreshness = Setting("minimum-freshness", default: 0, in: anyTime, .seconds)
    /// The longest freshness lifetime of a response, in seconds; at least `minimumFreshness`. Default: no limit.
    public static let maximumFreshness = Setting("maximum-freshness", default: nil, in: anyTime, .seconds)
    /// The freshness lifetime, in seconds, of a response that states none. Default: 24 hours.
    public static let defaultFreshness = Setting("default-freshness", default: 86_400, in: anyTime, .seconds)
    /// The time, in seconds, after which an image is fetched in full although each revalidation found it unchanged.
    /// Default: 30 days.
    public static let maximumAgeWithoutFetch = Setting(
        "max-age-without-fetch",
        default: 30 * 86_400,
        in: anyTime,
        .seconds
    )

    // MARK: Removal

    /// Whether an image stays when no contact uses it any more. If not, the next sync also removes those that lost their last
    /// contact earlier, except images in `documents` and those that a read has fetched or revalidated since. Default: 1, yes.
    public static let keepUnlinked = Setting("keep-unowned", default: 1, in: 0...1, .boolean)
    /// Whether the store keeps the names of contacts. Setting it to 0 removes the names that it has. Default: 1, yes.
    public static let keepNames = Setting("keep-names", default: 1, in: 0...1, .boolean)
    /// Whether the store keeps digests of the e-mail addresses of contacts, by which `image(withAddressDigest:)` finds
    /// them. Syncs of lists record them; setting it to 0 removes those that it has. Default: 0, no.
    public static let keepAddresses = Setting("keep-addresses", default: 0, in: 0...1, .boolean)
    /// How often in a row an origin must report an image as gone before its file is removed; 0: it is never removed.
    /// Default: 0.
    public static let goneConfirmations = Setting("gone-confirmations", default: 0, in: 0...1000, .count)

    // MARK: Images for others

    /// Whether `avatars serve`, `export --html` and `export --as-vcard` give images with their metadata. Default: 0, without.
    public static let servesMetadata = Setting("serve-metadata", default: 0, in: 0...1, .boolean)

    // MARK: Network

    /// The most requests at once of a program that takes its network options from the store. Default: 256.
    package static let connections = Setting("connections", default: 256, in: 1...4096, .count)
    /// The most requests at once to one host of such a program; 0: it finds out what a host bears. Default: 0.
    package static let connectionsPerHost = Setting("per-host", default: 0, in: 0...4096, .count)
    /// Whether requests of such a program may go to private addresses. Default: 0, no.
    package static let allowsPrivateNetworks = Setting("allow-private-network", default: 0, in: 0...1, .boolean)

    /// All settings, in the order in which the command line lists them.
    package static let all: [Setting] = [
        budget, lowWatermark, renditionBudget, maximumImageBytes, maximumPixels, allowsSVG, minimumFree,
        minimumFreshness,
        maximumFreshness,
        defaultFreshness, maximumAgeWithoutFetch, keepUnlinked, keepNames, keepAddresses,
        goneConfirmations, servesMetadata, connections, connectionsPerHost, allowsPrivateNetworks,
    ]

    /// The setting with the given name; `nil` for an unknown one.
    package init?(named name: String) {
        guard let setting = Self.all.first(where: { $0.name == name }) else { return nil }
        self = setting
    }

    /// - Throws: `invalidConfiguration` if `value` is outside `range`.
    package func validate(_ value: Int64) throws(AvatarStoreError) {
        guard range.contains(value) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "`\(name)` cannot be \(text(value)): it must be between \(text(range.lowerBound)) and "
                    + "\(text(range.upperBound))."
            )
        }
    }

    /// `value` with its unit, for messages.
    private func text(_ value: Int64) -> String {
        switch unit {
        case .bytes where value >= 0: ByteSize.limit(Int(value))
        case .boolean, .count: "\(value)"
        case .bytes, .pixels, .seconds: "\(value) \(unit.rawValue)"
        }
    }
}
