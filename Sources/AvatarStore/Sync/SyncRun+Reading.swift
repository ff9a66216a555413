import AvatarCore

/// How far ahead the source is read, and what becomes of it at the end.
extension SyncRun {
    private var readAhead: Int { 2 * max(4 * options.connections, options.batchSize) }

    /// What waits for a host that has its share does not count: one slow host is not to keep the others from being read.
    /// So many in all may wait all the same.
    var wantsToRead: Bool {
        !isExhausted && !shouldStop && collected.count < readAhead && queues.waitingCount < Self.mostWaiting
            && queues.readyCount < readAhead
    }

    private static let mostWaiting = 20_000

    /// Reads and sorts one page; between two of them there is time for what came.
    func readPage() async {
        guard wantsToRead else { return }
        do {
            let hasAskedEnough = startedFetches >= options.limit ?? .max
            let items = try await walk(hasAskedEnough && source.countsRest ? 0 : 256)
            isExhausted = items.isEmpty
            try await sort(items)
            tellProgress()
        } catch {
            // The list may notice the cancellation first; that is no failure of it.
            if !(error is CancellationError && Task.isCancelled) { failure = failure ?? error }
        }
    }

    func abandonWaiting() {
        isExhausted = true
        chainsToAdvance = []
        for target in queues.removeAll() { skip(target, report.ranOutOfTime ? .limit : .interrupted) }
    }

    /// Leaves an image alone: its contacts are linked to what is stored all the same.
    ///
    /// A sync that ends early has not settled what it abandons: its progress must not claim that all is done.
    func skip(_ target: FetchTarget, _ reason: SkipReason) {
        report.skip(reason)
        if !shouldStop { done += 1 }
        linkOwners(of: target)
    }
}
