import AvatarCore
import AvatarWriter
import Metrics

/// The metrics of a store, for the backend of `Configuration.metrics`, else the one that the program installs. Without one they cost
/// next to nothing.
///
/// | label | kind | counts |
/// |---|---|---|
/// | `avatar_store_reads_total` | counter | reads that gave an image; `source`: `store`, `origin`, `revalidated` |
/// | `avatar_store_misses_total` | counter | reads that found nothing stored, or nothing fresh enough |
/// | `avatar_store_fetches_total` | counter | finished fetches; `outcome`: `image`, `notModified`, or a failure kind |
/// | `avatar_store_requests_total` | counter | HTTP requests, including redirects and retries |
/// | `avatar_store_received_bytes_total` | counter | bytes of response bodies |
/// | `avatar_store_fetch_seconds` | timer | the time of one fetch, from the request to the last byte |
/// | `avatar_store_commit_seconds` | timer | the time to commit one batch to files and index |
/// | `avatar_store_evictions_total` | counter | files evicted |
/// | `avatar_store_evicted_bytes_total` | counter | their bytes |
/// | `avatar_store_caches_bytes` | gauge | bytes of the files in `caches`, after each commit |
///
/// The labels are stable. No label value names a URL, a host or a contact.
struct StoreMetrics: WriterMetrics {
    private static let prefix = "avatar_store_"

    /// The backend.
    private let factory: any MetricsFactory
    private let hits: Counter
    private let revalidated: Counter
    private let fetched: Counter
    private let misses: Counter
    private let images: Counter
    private let notModified: Counter
    private let requests: Counter
    private let receivedBytes: Counter
    private let fetchTime: Timer
    private let commitTime: Timer
    private let evictions: Counter
    private let evictedBytes: Counter
    private let cachesBytes: Gauge

    /// Metrics for the backend `factory`; `nil` for the one that the program installs for all its libraries.
    init(_ factory: (any MetricsFactory)?) {
        let factory = factory ?? MetricsSystem.factory
        self.factory = factory
        func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
            Counter(label: Self.prefix + name, dimensions: dimensions, factory: factory)
        }
        func timer(_ name: String) -> Timer {
            Timer(label: Self.prefix + name, preferredDisplayUnit: .seconds, factory: factory)
        }
        hits = counter("reads_total", [("source", "store")])
        revalidated = counter("reads_total", [("source", "revalidated")])
        fetched = counter("reads_total", [("source", "origin")])
        misses = counter("misses_total")
        images = counter("fetches_total", [("outcome", "image")])
        notModified = counter("fetches_total", [("outcome", "notModified")])
        requests = counter("requests_total")
        receivedBytes = counter("received_bytes_total")
        fetchTime = timer("fetch_seconds")
        commitTime = timer("commit_seconds")
        evictions = counter("evictions_total")
        evictedBytes = counter("evicted_bytes_total")
        cachesBytes = Gauge(label: Self.prefix + "caches_bytes", factory: factory)
    }

    /// Counts a read that gave an image.
    package func read(from source: AvatarFile.Source) {
        switch source {
        case .store: hits.increment()
        case .revalidated: revalidated.increment()
        case .origin: fetched.increment()
        }
    }

    /// Counts a read that found nothing stored, or nothing fresh enough.
    func miss() {
        misses.increment()
    }

    /// Counts a finished fetch, and records its time.
    func fetch(_ result: FetchResult, took time: Duration) {
        requests.increment(by: result.requestCount)
        receivedBytes.increment(by: result.bytesReceived)
        fetchTime.record(duration: time)
        switch result.content {
        case .image: images.increment()
        case .notModified: notModified.increment()
        case .failed(let failure):
            // The kinds are a fixed set, and the backend returns the existing counter.
            Counter(
                label: Self.prefix + "fetches_total",
                dimensions: [("outcome", failure.kind.rawValue)],
                factory: factory
            ).increment()
        }
    }

    /// Records the time of a committed batch, and the bytes in `caches` after it.
    func commit(took time: Duration, cachesBytes bytes: Int?) {
        commitTime.record(duration: time)
        if let bytes { cachesBytes.record(bytes) }
    }

    /// Counts evicted files and their bytes.
    func evict(files: Int, bytes: Int) {
        guard files > 0 else { return }
        evictions.increment(by: files)
        evictedBytes.increment(by: bytes)
    }
}
