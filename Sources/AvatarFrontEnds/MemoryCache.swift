import AvatarFoundation
public import AvatarStore

#if canImport(Darwin)
import Dispatch
#endif

/// A memory cache in front of a store. It evicts the least recently used images above a limit of bytes or images.
///
/// The front ends look here first. They show a cached image only if the store still has the same file for it. So they
/// never show an image that was replaced or removed, even by another process.
///
/// The cache holds each rendition of an image separately. A look-up finds an image only by the rendition it was cached for.
///
/// On Apple platforms the cache empties itself under memory pressure. On other platforms, call ``removeAll()``.
public final class MemoryCache: Sendable {
    /// The limits of a cache.
    public struct Limits: Hashable, Sendable {
        /// The maximum total size of the image files in bytes. Default: 64 MiB.
        public var bytes = 64 << 20
        /// The maximum number of images. Default: 1,000.
        public var count = 1000

        /// Limits of `bytes` bytes and `count` images. With 0 for either, the cache keeps nothing.
        public init(bytes: Int = 64 << 20, count: Int = 1000) {
            self.bytes = bytes
            self.count = count
        }
    }

    /// The cache that the front ends use by default.
    public static let shared = MemoryCache()

    private let state: Locked<RecentImages>
    private let pressure = Locked<MemoryPressure?>(nil)

    /// An empty cache with `limits`.
    public init(limits: Limits = Limits()) {
        state = Locked(RecentImages(limits: limits))
        pressure.withLock { $0 = MemoryPressure { [weak self] in self?.removeAll() } }
    }

    /// The limits of this cache. Lowering them evicts images at once.
    public var limits: Limits {
        get { state.withLock { $0.limits } }
        set { state.withLock { $0.limits = newValue } }
    }

    /// The current number of images.
    public var count: Int { state.withLock { $0.images.count } }

    /// The current total size of the image files in bytes.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// The cached image for `key`, or `nil`. It becomes the most recently used one.
    ///
    /// - Parameters:
    ///   - key: the key of the image.
    ///   - rendition: the rendition that the image was cached for. Default: `nil`, the original.
    public func image(for key: AvatarKey, as rendition: Rendition? = nil) -> AvatarImage? {
        state.withLock { $0.use(ImageName(key: key, rendition: rendition)) }
    }

    /// Caches `image` for `key`, and replaces an earlier one. An image larger than the byte limit is not kept.
    ///
    /// - Parameters:
    ///   - image: the image.
    ///   - key: the key of the image.
    ///   - rendition: the requested rendition. Default: `nil`, the original.
    public func insert(_ image: AvatarImage, for key: AvatarKey, as rendition: Rendition? = nil) {
        state.withLock { $0.insert(image, for: ImageName(key: key, rendition: rendition)) }
    }

    /// Removes the image for `key`, and all its renditions, from memory.
    public func remove(_ key: AvatarKey) {
        state.withLock { $0.remove(key) }
    }

    /// Removes all images from memory. An image value that a caller holds stays valid.
    public func removeAll() {
        state.withLock { $0.removeAll() }
    }
}

/// The name of an image in memory.
private struct ImageName: Hashable {
    let key: AvatarKey
    /// The requested rendition; `nil` for the original.
    let rendition: Rendition?
}

/// Images with the order of their last use.
private struct RecentImages {
    var limits: MemoryCache.Limits { didSet { trim() } }
    private(set) var images: [ImageName: (image: AvatarImage, lastUse: Int)] = [:]
    /// The renditions with which each key is in `images`, so that a key is removed without a search.
    private var renditions: [AvatarKey: Set<Rendition?>] = [:]
    private(set) var byteCount = 0
    /// Every use, the latest at the end. Only the last use of an image counts; eviction skips the earlier ones.
    private var uses: Queue<(name: ImageName, number: Int)> = []
    private var useCount = 0

    init(limits: MemoryCache.Limits) {
        self.limits = limits
    }

    /// Returns the image of this name and records its use.
    mutating func use(_ name: ImageName) -> AvatarImage? {
        guard let image = images[name]?.image else { return nil }
        let number = nextUse(of: name)
        images[name]?.lastUse = number
        return image
    }

    mutating func insert(_ image: AvatarImage, for name: ImageName) {
        remove(name)
        guard image.bytes.count <= limits.bytes, limits.count > 0 else { return }
        images[name] = (image, nextUse(of: name))
        renditions[name.key, default: []].insert(name.rendition)
        byteCount += image.bytes.count
        trim()
    }

    /// Removes the original and all renditions.
    mutating func remove(_ key: AvatarKey) {
        for rendition in renditions[key] ?? [] { remove(ImageName(key: key, rendition: rendition)) }
    }

    private mutating func remove(_ name: ImageName) {
        guard let removed = images.removeValue(forKey: name) else { return }
        byteCount -= removed.image.bytes.count
        renditions[name.key]?.remove(name.rendition)
        if renditions[name.key]?.isEmpty == true { renditions[name.key] = nil }
    }

    mutating func removeAll() {
        images = [:]
        renditions = [:]
        uses = []
        byteCount = 0
    }

    /// Evicts the least recently used images until the limits are met.
    private mutating func trim() {
        while images.count > limits.count || byteCount > limits.bytes, let use = uses.popFirst() {
            if images[use.name]?.lastUse == use.number { remove(use.name) }
        }
    }

    /// Records a use and returns its number.
    private mutating func nextUse(of name: ImageName) -> Int {
        // Drop uses that no longer count, so that hits alone cannot grow the list.
        if uses.count > 2 * images.count + 64 { uses.removeAll { images[$0.name]?.lastUse != $0.number } }
        useCount += 1
        uses.append((name, useCount))
        return useCount
    }
}

#if canImport(Darwin)
/// Calls `relieve` when the system reports memory pressure.
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
/// This platform does not report memory pressure, so applications call `MemoryCache.removeAll()` themselves.
private struct MemoryPressure {
    init(_ relieve: @escaping @Sendable () -> Void) {}
}
#endif
