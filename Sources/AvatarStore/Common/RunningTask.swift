/// A task that is cancelled when its last owner releases it.
package final class RunningTask: Sendable {
    private let task: Task<Void, Never>

    package init(_ task: Task<Void, Never>) {
        self.task = task
    }

    deinit {
        task.cancel()
    }
}
