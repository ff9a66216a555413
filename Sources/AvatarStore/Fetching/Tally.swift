import AvatarCore
import Synchronization

/// Counts the requests and bytes of one fetch, also of one that fails halfway.
final class Tally: Sendable {
    private let requests = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)

    func addRequest() {
        requests.add(1, ordering: .relaxed)
    }

    func add(bytes count: Int) {
        bytes.add(count, ordering: .relaxed)
    }

    var requestCount: Int { requests.load(ordering: .relaxed) }

    var byteCount: Int { bytes.load(ordering: .relaxed) }

    func result(_ content: FetchResult.Content, began: Timestamp, ended: Timestamp) -> FetchResult {
        FetchResult(
            content: content,
            began: began,
            ended: ended,
            requestCount: requestCount,
            bytesReceived: byteCount
        )
    }
}
