import AvatarCore
import Metrics

/// The metrics of a store, for the backend of swift-metrics that the program installs. Without one they cost next to nothing.
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
struct StoreMetrics: Sendable {
    private static let prefix = "avatar_store_"

    private let hits = Counter(label: prefix + "reads_total", dimensions: [("source", "store")])
    private let revalidated = Counter(label: prefix + "reads_total", dimensions: [("source", "revalidated")])
    private let fetched = Counter(label: prefix + "reads_total", dimensions: [("source", "origin")])
    private let misses = Counter(label: prefix + "misses_total")
    private let images = Counter(label: prefix + "fetches_total", dimensions: [("outcome", "image")])
    private let notModified = Counter(label: prefix + "fetches_total", dimensions: [("outcome", "notModified")])
    private let requests = Counter(label: prefix + "requests_total")
    private let receivedBytes = Counter(label: prefix + "received_bytes_total")
    private let fetchTime = Timer(label: prefix + "fetch_seconds", preferredDisplayUnit: .seconds)
    private let commitTime = Timer(label: prefix + "commit_seconds", preferredDisplayUnit: .seconds)
    private let evictions = Counter(label: prefix + "evictions_total")
    private let evictedBytes = Counter(label: prefix + "evicted_bytes_total")
    private let cachesBytes = Gauge(label: prefix + "caches_bytes")

    /// Counts a read that gave an image.
    func read(from source: AvatarFile.Source) {
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
            Counter(label: Self.prefix + "fetches_total", dimensions: [("outcome", failure.kind.rawValue)]).increment()
        }
    }

    /// Records the time of a committed batch, and the bytes in `caches` after it.
    func commit(took time: Duration, cachesBytes bytes: Int) {
        commitTime.record(duration: time)
        cachesBytes.record(bytes)
    }

    /// Counts evicted files and their bytes.
    func evict(files: Int, bytes: Int) {
        guard files > 0 else { return }
        evictions.increment(by: files)
        evictedBytes.increment(by: bytes)
    }
}
