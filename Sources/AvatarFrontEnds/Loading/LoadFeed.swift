import AvatarStore
import Synchronization

/// Carries what is known of a fetch from where it runs to the loader: always the latest, never a queue of it.
final class LoadFeed: Sendable {
    struct Update: Sendable {
        var progress = FetchProgress()
        var preview: [UInt8]?
    }

    private struct State {
        var update = Update()
        var scanner: PreviewScanner?
    }

    private let state: Mutex<State>
    /// One element whenever there is something new.
    let news: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init(wantsPreviews: Bool) {
        state = Mutex(State(scanner: wantsPreviews ? PreviewScanner() : nil))
        (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The latest.
    var update: Update { state.withLock { $0.update } }

    /// More has come.
    func report(_ progress: FetchProgress, _ arrived: any ByteSource) {
        state.withLock { state in
            state.update.progress = progress
            do {
                guard let length = try state.scanner?.advance(arrived, total: progress.totalBytes) else { return }
                state.update.preview = try arrived.bytes(at: 0, count: length)
            } catch {
                // A picture that cannot be read while it arrives has no previews; the fetch tells what is wrong.
                state.scanner = nil
            }
        }
        continuation.yield()
    }

    /// Nothing more will come.
    func finish() {
        continuation.finish()
    }
}
