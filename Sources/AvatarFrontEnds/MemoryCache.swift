public import AvatarStore
import DequeModule
import Synchronization

#if canImport(Darwin)
import Dispatch
#endif

/// Images in memory, in front of a store: the least recently used ones go when there are too many, or too many bytes.
///
/// The front ends look here first. What they find of a store is shown only if the store still names the same file, so
/// an image that was replaced or removed, by another process too, is never shown from memory.
///
/// On Apple platforms it empties itself when the system is short of memory; elsewhere, call ``removeAll()``.
public final class MemoryCache: Sendable {
    /// How much may be kept.
    public struct Limits: Hashable, Sendable {
        /// The bytes of all images. Default: 64 MiB.
        public var bytes = 64 << 20
        /// The number of images. Default: 1,000.
        public var count = 1000

        /// So many bytes and images; 0 keeps nothing.
        public init(bytes: Int = 64 << 20, count: Int = 1000) {
            self.bytes = bytes
            self.count = count
        }
    }

    /// The one that the front ends use unless they are given another.
    public static let shared = MemoryCache()

    private let state: Mutex<RecentImages>
    private let pressure = Mutex<MemoryPressure?>(nil)

    /// An empty cache.
    public init(limits: Limits = Limits()) {
        state = Mutex(RecentImages(limits: limits))
        pressure.withLock { $0 = MemoryPressure { [weak self] in self?.removeAll() } }
    }

    /// How much may be kept. Lower ones hold at once.
    public var limits: Limits {
        get { state.withLock { $0.limits } }
        set { state.withLock { $0.limits = newValue } }
    }

    /// The number of images.
    public var count: Int { state.withLock { $0.images.count } }

    /// The bytes of all images.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// The image that was kept for `key`, which from now on is the most recently used one.
    public func image(for key: AvatarKey) -> AvatarImage? {
        state.withLock { $0.use(key) }
    }

    /// Keeps `image` for `key` instead of what was there. One that is larger than the limit is not kept.
    public func insert(_ image: AvatarImage, for key: AvatarKey) {
        state.withLock { $0.insert(image, for: key) }
    }

    /// Forgets the image of `key`.
    public func remove(_ key: AvatarKey) {
        state.withLock { $0.remove(key) }
    }

    /// Forgets all images. Those that are being shown stay with whoever shows them.
    public func removeAll() {
        state.withLock { $0.removeAll() }
    }
}

/// Images, and in which order they were used.
private struct RecentImages {
    var limits: MemoryCache.Limits { didSet { trim() } }
    private(set) var images: [AvatarKey: (image: AvatarImage, lastUse: Int)] = [:]
    private(set) var byteCount = 0
    /// Every use, the latest at the end. Only the last one of an image counts, the earlier ones are passed over.
    private var uses: Deque<(key: AvatarKey, number: Int)> = []
    private var useCount = 0

    init(limits: MemoryCache.Limits) {
        self.limits = limits
    }

    mutating func use(_ key: AvatarKey) -> AvatarImage? {
        guard let image = images[key]?.image else { return nil }
        let number = nextUse(of: key)
        images[key]?.lastUse = number
        return image
    }

    mutating func insert(_ image: AvatarImage, for key: AvatarKey) {
        remove(key)
        guard image.bytes.count <= limits.bytes, limits.count > 0 else { return }
        images[key] = (image, nextUse(of: key))
        byteCount += image.bytes.count
        trim()
    }

    mutating func remove(_ key: AvatarKey) {
        guard let removed = images.removeValue(forKey: key) else { return }
        byteCount -= removed.image.bytes.count
    }

    mutating func removeAll() {
        images = [:]
        uses = []
        byteCount = 0
    }

    private mutating func trim() {
        while images.count > limits.count || byteCount > limits.bytes, let use = uses.popFirst() {
            if images[use.key]?.lastUse == use.number { remove(use.key) }
        }
    }

    private mutating func nextUse(of key: AvatarKey) -> Int {
        // Cleared of what does not count any more, so that hits alone cannot make it grow.
        if uses.count > 2 * images.count + 64 { uses.removeAll { images[$0.key]?.lastUse != $0.number } }
        useCount += 1
        uses.append((key, useCount))
        return useCount
    }
}

#if canImport(Darwin)
/// Calls back while the system is short of memory.
private final class MemoryPressure {
    private let source: any DispatchSourceMemoryPressure

    init(_ relieve: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: .global())
        source.setEventHandler(handler: relieve)
        source.activate()
    }

    deinit {
        source.cancel()
    }
}
#else
/// This platform does not tell: whoever knows calls `MemoryCache.removeAll()`.
private struct MemoryPressure {
    init(_ relieve: @escaping @Sendable () -> Void) {}
}
#endif
