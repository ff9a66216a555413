import AvatarCore
import AvatarIndex

/// A setting that is kept in the store, for all processes that use it.
public struct Setting: Hashable, Sendable {
    /// The name, as the command line spells it.
    public let name: String
    /// The value while nobody has set another; `nil`: none.
    public let defaultValue: Int64?
    /// The values that make sense.
    public let range: ClosedRange<Int64>
    /// What the value counts.
    public let unit: Unit

    /// What a value counts.
    public enum Unit: String, Sendable {
        /// Bytes.
        case bytes
        /// Pixels.
        case pixels
        /// Seconds.
        case seconds
        /// 0 or 1.
        case boolean
        /// A number of things.
        case count
    }

    private init(_ name: String, _ defaultValue: Int64?, in range: ClosedRange<Int64>, _ unit: Unit) {
        self.name = name
        self.defaultValue = defaultValue
        self.range = range
        self.unit = unit
    }

    private static let anySize: ClosedRange<Int64> = 0...(1 << 50)
    private static let anyTime: ClosedRange<Int64> = 0...(100 * 366 * 86_400)

    /// The most bytes of files in the class `caches`, at every moment. 268.4 MB (268,435,456 bytes).
    public static let budget = Setting("budget", 256 << 20, in: anySize, .bytes)
    /// Where an eviction stops. 90 % of the budget.
    public static let lowWatermark = Setting("low-watermark", nil, in: anySize, .bytes)
    /// The most bytes of one image. 21.0 MB (20,971,520 bytes).
    public static let maximumImageBytes = Setting("max-image-bytes", 20 << 20, in: 1...(1 << 40), .bytes)
    /// The most pixels of one image. 50 million.
    public static let maximumPixels = Setting("max-pixels", 50_000_000, in: 1...(1 << 40), .pixels)
    /// The free space on disk below which nothing new is stored. 0.
    public static let minimumFree = Setting("min-free", 0, in: anySize, .bytes)
    /// The shortest time an answer counts as fresh; no longer than the longest. 0.
    public static let minimumFreshness = Setting("minimum-freshness", 0, in: anyTime, .seconds)
    /// The longest time an answer counts as fresh; no shorter than the shortest. No limit.
    public static let maximumFreshness = Setting("maximum-freshness", nil, in: anyTime, .seconds)
    /// How long an answer counts as fresh that says nothing of it. 24 hours.
    public static let defaultFreshness = Setting("default-freshness", 86_400, in: anyTime, .seconds)
    /// After which time an image is fetched in full although the origin keeps saying that it did not change. 30 days.
    public static let maximumAgeWithoutFetch = Setting("max-age-without-fetch", 30 * 86_400, in: anyTime, .seconds)
    /// Whether an image stays that no contact uses any more. 1.
    public static let keepUnowned = Setting("keep-unowned", 1, in: 0...1, .boolean)
    /// How often an origin must say that an image is gone before it is removed; 0: never. 0.
    public static let goneConfirmations = Setting("gone-confirmations", 0, in: 0...1000, .count)

    /// All settings.
    public static let all: [Setting] = [
        budget, lowWatermark, maximumImageBytes, maximumPixels, minimumFree, minimumFreshness, maximumFreshness,
        defaultFreshness, maximumAgeWithoutFetch, keepUnowned, goneConfirmations,
    ]

    /// The setting called `name`.
    public init?(named name: String) {
        guard let setting = Self.all.first(where: { $0.name == name }) else { return nil }
        self = setting
    }

    func validate(_ value: Int64) throws(AvatarStoreError) {
        guard range.contains(value) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "\(name) can be \(range.lowerBound) to \(range.upperBound) \(unit.rawValue), not \(value)."
            )
        }
    }
}
