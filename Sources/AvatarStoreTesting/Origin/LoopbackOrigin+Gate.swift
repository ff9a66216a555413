import Synchronization

extension LoopbackOrigin {
    /// Keeps answers back until the test has seen what it waits for; a delay would have to guess how long that takes.
    public final class Gate: Sendable {
        private let state = Mutex(false)

        /// A closed gate.
        public init() {}

        /// Lets the answers go. A gate is not closed again.
        public func open() {
            state.withLock { $0 = true }
        }

        var isOpen: Bool { state.withLock { $0 } }
    }
}
